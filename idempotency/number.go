package idempotency

import (
	"strconv"
	"strings"
)

// number writes a JSON number as digits without zeros at either end and an
// exponent, exactly. It takes time in proportion to its length: big.Int would
// take seconds over an exponent of a million digits, which anybody can send.
func number(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	mantissa, exponent := s, "0"
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return sign + short + "e" + plus(exponent, len(digits)-len(short)-len(fraction))
}

// safeDigits is how many decimal digits surely fit into an int64, with room to
// add an int to it that is the length of something.
const safeDigits = 18

// plus adds n to a whole number in decimal, such as a JSON exponent.
func plus(s string, n int) string {
	sign, digits := "", strings.TrimLeft(s, "+-0")
	if strings.HasPrefix(s, "-") {
		sign, n = "-", -n
	}
	if len(digits) <= safeDigits {
		v, _ := strconv.ParseInt("0"+digits, 10, 64)
		v += int64(n)
		if sign != "" {
			v = -v
		}
		return strconv.FormatInt(v, 10)
	}
	// More than any n: the sign stays. Digit by digit from the right, until
	// nothing is left to carry.
	sum := []byte(digits)
	carry := n
	for i := len(sum) - 1; i >= 0 && carry != 0; i-- {
		v := int(sum[i]-'0') + carry
		digit := (v%10 + 10) % 10
		sum[i], carry = byte('0'+digit), (v-digit)/10
	}
	if carry > 0 {
		return sign + strconv.Itoa(carry) + string(sum)
	}
	return sign + strings.TrimLeft(string(sum), "0")
}
