package sqstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Defaults of [Config].
const (
	DefaultRegion      = "us-east-1"
	DefaultAccount     = "000000000000"
	DefaultMaxInFlight = 120_000
)

// Config configures a [Server]. The zero value is usable.
type Config struct {
	// Region appears in ARNs and URLs. Default: us-east-1.
	Region string
	// Account is the owner of all queues, 12 digits. Default: 000000000000.
	Account string
	// MaxInFlight is how many messages of one queue may be in flight at once.
	// Beyond it a short poll on a standard queue gets OverLimit, a long poll
	// and any poll on a FIFO queue find nothing. Default (also for a negative
	// value): 120,000, as in the SQS quotas.
	MaxInFlight int
	// LogLimit is how many calls [Server.Log] keeps, the latest ones. Default
	// 0: all of them, with their inputs, so give a limit to a program that runs
	// for long. Negative: none. [Server.Calls] counts all calls in any case.
	LogLimit int
}

// Server is Amazon SQS in process. It is safe for concurrent use. Create it with
// [NewServer], inside the bubble if the test uses testing/synctest, and close it
// there.
type Server struct {
	cfg    Config
	client *http.Client
	done   chan struct{} // closed by Close: ends long polls and move tasks
	wg     sync.WaitGroup

	// mu guards the queues. It is held for short sections only, never across a
	// wait: a goroutine that waits for a mutex stops a synctest bubble's clock.
	mu      sync.Mutex
	closed  bool
	queues  map[string]*queue
	removed map[string]time.Time // names of deleted queues
	nextID  uint64
	tasks   []*moveTask
	http    []*http.Server
	baseURL string // of the first Listen

	logMu  sync.Mutex
	log    []*Call
	counts map[string]Calls // by caller
	faults []*Fault
}

// NewServer starts an empty server. It starts no goroutine; those of move tasks
// and [Server.Listen] end with [Server.Close].
func NewServer(cfg Config) *Server {
	if cfg.Region == "" {
		cfg.Region = DefaultRegion
	}
	if cfg.Account == "" {
		cfg.Account = DefaultAccount
	}
	if cfg.MaxInFlight <= 0 {
		cfg.MaxInFlight = DefaultMaxInFlight
	}
	s := &Server{
		cfg:     cfg,
		done:    make(chan struct{}),
		queues:  make(map[string]*queue),
		removed: make(map[string]time.Time),
		counts:  make(map[string]Calls),
	}
	s.client = &http.Client{Transport: transport{s}}
	return s
}

// Close ends long polls (their callers see a lost connection), running move
// tasks and listeners, and returns when all of that has ended. Later calls fail.
// Closing twice is fine.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	servers := s.http
	s.http = nil
	s.mu.Unlock()
	if first {
		close(s.done)
	}
	for _, h := range servers {
		_ = h.Close()
	}
	s.wg.Wait()
}

// enter reports whether the server still takes calls, and if so keeps Close
// waiting until exit.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

func (s *Server) exit() { s.wg.Done() }

// errClosed is what callers of a closed server get, wrapped by the SDK as a
// failure to send the request.
var errClosed = errors.New("sqstest: server closed")

// HTTPClient returns an HTTP client whose every request, whatever its address,
// is answered by the server in the calling goroutine, without a socket. Give it
// to a program that builds its own SDK client (aws.Config.HTTPClient).
func (s *Server) HTTPClient() *http.Client { return s.client }

// Client returns the real SQS client of the AWS SDK, talking to this server
// through [Server.HTTPClient] with static credentials. Its options are the
// SDK's defaults, retries included; optFns change them. Set AppID to tell
// callers apart in [Server.Log] and faults.
func (s *Server) Client(optFns ...func(*sqs.Options)) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:      s.cfg.Region,
		HTTPClient:  s.client,
		Credentials: aws.CredentialsProviderFunc(credentials),
	}, optFns...)
}

func credentials(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKIDSQSTEST", SecretAccessKey: "sqstest", Source: "sqstest"}, nil
}

// partition returns the name of the AWS partition and the DNS suffix of the
// server's region.
func (s *Server) partition() (name, suffix string) {
	switch {
	case strings.HasPrefix(s.cfg.Region, "cn-"):
		return "aws-cn", "amazonaws.com.cn"
	case strings.HasPrefix(s.cfg.Region, "us-gov-"):
		return "aws-us-gov", "amazonaws.com"
	default:
		return "aws", "amazonaws.com"
	}
}

func (s *Server) arn(name string) string {
	partition, _ := s.partition()
	return fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition, s.cfg.Region, s.cfg.Account, name)
}

// url spells a queue's URL under base, or under AWS's own address without one.
func (s *Server) url(base, name string) string {
	if base == "" {
		_, suffix := s.partition()
		base = fmt.Sprintf("https://sqs.%s.%s", s.cfg.Region, suffix)
	}
	return base + "/" + s.cfg.Account + "/" + name
}

// queueNameOf returns the name in a queue URL, "" if it is of another account or
// no queue URL at all. The host does not matter.
func (s *Server) queueNameOf(url string) string {
	rest, name, ok := cutLast(url, "/")
	if !ok {
		return ""
	}
	if _, account, _ := cutLast(rest, "/"); account != s.cfg.Account {
		return ""
	}
	return name
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+len(sep):], true
}

// lookup finds a queue by its URL and brings it up to now. The caller holds mu.
func (s *Server) lookup(url string, now time.Time) (*queue, *Error) {
	q := s.queues[s.queueNameOf(url)]
	if q == nil {
		return nil, errNoQueue()
	}
	q.advance(now)
	return q, nil
}

// byARN finds a queue by its ARN, nil if there is none. The caller holds mu.
func (s *Server) byARN(arn string) *queue {
	_, name, _ := cutLast(arn, ":")
	if q := s.queues[name]; q != nil && q.arn == arn {
		return q
	}
	return nil
}
