package stub

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Serve answers the connections that l accepts, until it is closed, and returns when
// all have ended. It knows as much of HTTP as the SDK needs: requests with a
// length, one after another. A server of net/http costs more than twice as much, on
// the cores that the consumer shares with it.
func (s *Server) Serve(l net.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		conns.Go(func() {
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			defer func() { _ = c.Close() }()
			_ = s.converse(ctx, c) // the client has gone, or is no SDK
		})
	}
}

// converse answers what comes on one connection.
func (s *Server) converse(ctx context.Context, c net.Conn) error {
	in := bufio.NewReaderSize(c, 16<<10)
	var call request
	var raw, body, out []byte
	for {
		target, length, err := readHead(in)
		if err != nil {
			return err
		}
		if cap(raw) < length {
			raw = make([]byte, length)
		}
		raw = raw[:length]
		if _, err := io.ReadFull(in, raw); err != nil {
			return err
		}
		call.parse(raw)
		var status int
		body, status = s.call(ctx, target, &call, body[:0])
		out = append(appendHead(out[:0], status, len(body)), body...)
		if _, err := c.Write(out); err != nil {
			return err
		}
	}
}

var errNoSDK = errors.New("stub: no request of the SDK")

// readHead reads the head of a request.
func readHead(in *bufio.Reader) (target string, length int, err error) {
	length = -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(name, []byte("X-Amz-Target")):
			target = string(value)
		case bytes.EqualFold(name, []byte("Content-Length")):
			length = number(value)
		}
	}
	if length < 0 || length > maxBody {
		return "", 0, fmt.Errorf("%w: its length is %d", errNoSDK, length)
	}
	return target, length, nil
}
