package sqsqueue_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/ackwise/ackwise/consumer/internal/sqsqueue"
)

func TestParseARN(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a_-9", 20)
	for arn, id := range map[string]sqsqueue.Identity{
		"arn:aws:sqs:eu-central-1:111122223333:orders":       {"aws", "eu-central-1", "111122223333", "orders"},
		"arn:aws-cn:sqs:cn-north-1:111122223333:orders.fifo": {"aws-cn", "cn-north-1", "111122223333", "orders.fifo"},
		"arn:aws:sqs:us-east-1:000000000000:" + long:         {"aws", "us-east-1", "000000000000", long},
	} {
		got, err := sqsqueue.ParseARN(arn)
		if diff := cmp.Diff(id, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", arn, err, diff)
		}
	}
}

// Whatever cannot go into a host name or a path is refused.
func TestParseARN_Refuses(t *testing.T) {
	t.Parallel()
	for _, arn := range []string{
		"", "orders", "arn:aws:sqs:eu-central-1:111122223333", "arn:aws:sns:eu-central-1:111122223333:orders",
		"arn:aws:sqs:us-east-2: 111122223333:orders", "arn:aws:sqs::111122223333:orders", "arn:aws:sqs:eu-central-1::orders",
		"arn:aws:sqs:eu-central-1:111122223333:", "arn:aws:sqs:eu-central-1:111122223333:a/b", "arn:aws:sqs:eu-central-1:111122223333:a:b",
		"arn:aws:sqs:evil.example/x?:111122223333:orders", "arn:aws:sqs:eu-central-1:11112222333:orders",
		"arn:aws:sqs:eu-central-1:111122223333:orders.fifo.fifo", "arn:aws:sqs:eu-central-1:111122223333:orders\n",
		"arn:aws:sqs:eu-central-1:111122223333:" + strings.Repeat("a", 81), "ARN:aws:sqs:eu-central-1:111122223333:orders",
	} {
		if id, err := sqsqueue.ParseARN(arn); err == nil {
			t.Errorf("%q was accepted: %+v", arn, id)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, fifo := range map[string]bool{
		"orders": false, "orders.fifo": true, "arn:aws:sqs:us-east-1:1:orders.fifo": true, "https://sqs/1/orders.fifo": true,
		"": false, "fifo": false, "orders.FIFO": false, "orders.fifo.bak": false,
	} {
		if sqsqueue.IsFIFO(name) != fifo {
			t.Errorf("IsFIFO(%q) is %t", name, !fifo)
		}
	}
	for arn, name := range map[string]string{"": "", "orders": "orders", "a:b:orders.fifo": "orders.fifo", "a:b:": ""} {
		if got := sqsqueue.NameOf(arn); got != name {
			t.Errorf("NameOf(%q) is %q", arn, got)
		}
	}
}

// noCalls fails the test if a call is made.
type noCalls struct{ t *testing.T }

func (n noCalls) Do(r *http.Request) (*http.Response, error) {
	n.t.Errorf("a call to %s", r.URL)
	return nil, http.ErrHandlerTimeout
}

// A queue of every partition has the address that the SDK's endpoint rules give,
// without a call.
func TestURL_AgreesWithTheSDKsEndpointRules(t *testing.T) {
	t.Parallel()
	for partition, regions := range map[string][]string{
		"aws":        {"us-east-1", "us-west-2", "eu-central-1", "ap-southeast-5", "il-central-1", "mx-central-1"},
		"aws-cn":     {"cn-north-1", "cn-northwest-1"},
		"aws-us-gov": {"us-gov-west-1", "us-gov-east-1"},
		"aws-iso":    {"us-iso-east-1", "us-iso-west-1"},
		"aws-iso-b":  {"us-isob-east-1"},
		"aws-iso-e":  {"eu-isoe-west-1"},
		"aws-iso-f":  {"us-isof-south-1", "us-isof-east-1"},
		"aws-eusc":   {"eusc-de-east-1"},
	} {
		for _, region := range regions {
			client := sqs.New(sqs.Options{Region: "us-east-1", HTTPClient: noCalls{t}})
			id := sqsqueue.Identity{Partition: partition, Region: region, Account: "111122223333", Name: "orders.fifo"}
			url, err := id.URL(context.Background(), client)
			if err != nil {
				t.Errorf("%s: %v", region, err)
				continue
			}
			ep, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(), sqs.EndpointParameters{Region: aws.String(region)})
			if err != nil {
				t.Fatal(err)
			}
			if want := ep.URI.String() + "/111122223333/orders.fifo"; url != want || !strings.HasPrefix(url, "https://sqs."+region+".") {
				t.Errorf("%s: %s, not %s", region, url, want)
			}
		}
	}
}

// The SDK's rules take any region they do not know for one of the aws partition:
// where the ARN says otherwise, SQS is asked.
func TestURL_PartitionAndRegionThatDoNotAgree(t *testing.T) {
	t.Parallel()
	for _, id := range []sqsqueue.Identity{
		{Partition: "aws", Region: "cn-north-1", Account: "111122223333", Name: "q"},
		{Partition: "aws-cn", Region: "us-east-1", Account: "111122223333", Name: "q"},
		{Partition: "aws-moon", Region: "moon-1", Account: "111122223333", Name: "q"},
	} {
		asked := 0
		client := sqs.New(sqs.Options{Region: "us-east-1", HTTPClient: countCalls{&asked}, RetryMaxAttempts: 1, Credentials: aws.AnonymousCredentials{}})
		if url, err := id.URL(context.Background(), client); err == nil || asked != 1 {
			t.Errorf("%+v: %q, %v after %d calls", id, url, err, asked)
		}
	}
}

type countCalls struct{ n *int }

func (c countCalls) Do(*http.Request) (*http.Response, error) {
	*c.n++
	return nil, http.ErrHandlerTimeout
}

func TestURL_UnderAnEndpointOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://127.0.0.1:4566":           "http://127.0.0.1:4566/111122223333/orders",
		"http://127.0.0.1:4566/":          "http://127.0.0.1:4566/111122223333/orders",
		"https://gateway.example/sqs/api": "https://gateway.example/sqs/api/111122223333/orders",
	} {
		client := sqs.New(sqs.Options{Region: "us-east-1", HTTPClient: noCalls{t}, BaseEndpoint: &base})
		id := sqsqueue.Identity{Partition: "aws-moon", Region: "moon-1", Account: "111122223333", Name: "orders"}
		if url, err := id.URL(context.Background(), client); err != nil || url != want {
			t.Errorf("%s: %s, %v", base, url, err)
		}
	}
}
