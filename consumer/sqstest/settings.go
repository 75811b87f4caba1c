package sqstest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of SQS.
const (
	maxMessageSize   = 1 << 20 // of a message, and of a batch
	maxVisibility    = 12 * time.Hour
	maxDelay         = 15 * time.Minute
	maxWait          = 20 * time.Second
	maxBatch         = 10
	maxReceiveNumber = 10
)

// settings are the attributes of a queue that can be set.
type settings struct {
	visibility, delay, retention, wait time.Duration

	maxSize          int
	deadLetterARN    string
	maxReceives      int
	contentBased     bool
	dedupPerGroup    bool
	perGroupLimit    bool
	raw              map[string]string // texts that are kept as they came: policies, KMS
	sqsManagedSSE    bool
	redriveAllow     redriveAllowPolicy
	redrivePolicyRaw string
}

func defaultSettings() settings {
	return settings{
		visibility: 30 * time.Second, retention: 4 * 24 * time.Hour,
		maxSize: maxMessageSize, sqsManagedSSE: true,
	}
}

// redriveAllowPolicy says which queues may use this one as a dead-letter queue.
type redriveAllowPolicy struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns,omitempty"`
}

func (p redriveAllowPolicy) allows(source string) bool {
	switch p.Permission {
	case "denyAll":
		return false
	case "byQueue":
		return slices.Contains(p.Sources, source)
	default:
		return true
	}
}

// number describes an attribute that is an integer in a range.
type number struct {
	min, max int
	set      func(*settings, int)
	get      func(*settings) int
}

func seconds(maximum time.Duration, field func(*settings) *time.Duration) number {
	return number{
		max: int(maximum / time.Second),
		set: func(s *settings, n int) { *field(s) = time.Duration(n) * time.Second },
		get: func(s *settings) int { return int(*field(s) / time.Second) },
	}
}

var numbers = map[string]number{
	"VisibilityTimeout":             seconds(maxVisibility, func(s *settings) *time.Duration { return &s.visibility }),
	"DelaySeconds":                  seconds(maxDelay, func(s *settings) *time.Duration { return &s.delay }),
	"ReceiveMessageWaitTimeSeconds": seconds(maxWait, func(s *settings) *time.Duration { return &s.wait }),
	"MessageRetentionPeriod": func() number {
		n := seconds(14*24*time.Hour, func(s *settings) *time.Duration { return &s.retention })
		n.min = 60
		return n
	}(),
	"MaximumMessageSize": {
		min: 1 << 10, max: maxMessageSize,
		set: func(s *settings, n int) { s.maxSize = n },
		get: func(s *settings) int { return s.maxSize },
	},
}

// apply sets one attribute. Attributes that need to look at other queues
// (RedrivePolicy) are checked by the server before.
func (s *settings) apply(name, value string, fifo bool) *Error {
	if n, ok := numbers[name]; ok {
		v, err := strconv.Atoi(value)
		if err != nil || v < n.min || v > n.max {
			return errAttributeValue(name, "")
		}
		n.set(s, v)
		return nil
	}
	switch name {
	case "RedrivePolicy":
		return nil // see Server.applyRedrivePolicy
	case "RedriveAllowPolicy":
		return s.applyRedriveAllow(value)
	case "Policy", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds":
		return s.applyText(name, value)
	case "SqsManagedSseEnabled":
		return applyBool(&s.sqsManagedSSE, name, value)
	case "ContentBasedDeduplication":
		if !fifo {
			return errAttributeName("Unknown Attribute %s.", name)
		}
		return applyBool(&s.contentBased, name, value)
	case "DeduplicationScope":
		return applyFIFOChoice(&s.dedupPerGroup, fifo, name, value, "queue", "messageGroup")
	case "FifoThroughputLimit":
		return applyFIFOChoice(&s.perGroupLimit, fifo, name, value, "perQueue", "perMessageGroupId")
	case "FifoQueue":
		if !fifo {
			return errAttributeName("Unknown Attribute %s.", name)
		}
		if value != "true" {
			return errAttributeValue(name, "Modifying queue type is not supported.")
		}
		return nil
	default:
		return errAttributeName("Unknown Attribute %s.", name)
	}
}

func applyBool(field *bool, name, value string) *Error {
	v, err := strconv.ParseBool(strings.ToLower(value))
	if err != nil {
		return errAttributeValue(name, "")
	}
	*field = v
	return nil
}

func applyFIFOChoice(field *bool, fifo bool, name, value, off, on string) *Error {
	if !fifo {
		return errAttributeName("You can specify the %s only when FifoQueue is set to true.", name)
	}
	if value != off && value != on {
		return errAttributeValue(name, "")
	}
	*field = value == on
	return nil
}

// applyText keeps an attribute as it came; an empty text removes it. A KMS key
// switches the encryption with SQS's own keys off, as the two exclude each
// other.
func (s *settings) applyText(name, value string) *Error {
	if name == "KmsDataKeyReusePeriodSeconds" && value != "" {
		if v, err := strconv.Atoi(value); err != nil || v < 60 || v > 86400 {
			return errAttributeValue(name, "")
		}
	}
	raw := make(map[string]string, len(s.raw)+1)
	maps.Copy(raw, s.raw)
	raw[name] = value
	if value == "" {
		delete(raw, name)
	} else if name == "KmsMasterKeyId" {
		s.sqsManagedSSE = false
	}
	s.raw = raw
	return nil
}

func (s *settings) applyRedriveAllow(value string) *Error {
	const name = "RedriveAllowPolicy"
	var p redriveAllowPolicy
	if value != "" {
		if err := json.Unmarshal([]byte(value), &p); err != nil {
			return errValue(value, name, "Redrive allow policy is not a valid JSON map.")
		}
		switch p.Permission {
		case "allowAll", "denyAll":
			if len(p.Sources) > 0 {
				return errValue(value, name, "sourceQueueArns goes with redrivePermission byQueue only.")
			}
		case "byQueue":
			if len(p.Sources) < 1 || len(p.Sources) > 10 {
				return errValue(value, name, "redrivePermission byQueue takes 1 to 10 sourceQueueArns.")
			}
		default:
			return errValue(value, name, "redrivePermission must be allowAll, denyAll or byQueue.")
		}
	}
	s.redriveAllow = p
	raw := make(map[string]string, len(s.raw)+1)
	maps.Copy(raw, s.raw)
	if raw[name] = value; value == "" {
		delete(raw, name)
	}
	s.raw = raw
	return nil
}

// attributes spells the settable attributes as GetQueueAttributes returns them.
func (s *settings) attributes(fifo bool) map[string]string {
	out := make(map[string]string, 20)
	for name, n := range numbers {
		out[name] = strconv.Itoa(n.get(s))
	}
	maps.Copy(out, s.raw)
	out["SqsManagedSseEnabled"] = strconv.FormatBool(s.sqsManagedSSE)
	if s.raw["KmsMasterKeyId"] == "" {
		delete(out, "KmsDataKeyReusePeriodSeconds")
	}
	if s.redrivePolicyRaw != "" {
		out["RedrivePolicy"] = s.redrivePolicyRaw
	}
	if fifo {
		out["FifoQueue"] = "true"
		out["ContentBasedDeduplication"] = strconv.FormatBool(s.contentBased)
		out["DeduplicationScope"] = choice(s.dedupPerGroup, "queue", "messageGroup")
		out["FifoThroughputLimit"] = choice(s.perGroupLimit, "perQueue", "perMessageGroupId")
	}
	return out
}

func choice(on bool, off, onText string) string {
	if on {
		return onText
	}
	return off
}
