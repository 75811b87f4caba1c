package sqsqueue

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Identity is what a queue's ARN says.
type Identity struct {
	Partition, Region, Account, Name string
}

// IsFIFO reports whether a queue is a FIFO queue, by the suffix of its name,
// ARN or URL. A message group is no sign of it: fair queues put one on the
// messages of standard queues.
func IsFIFO(name string) bool { return strings.HasSuffix(name, ".fifo") }

// Each part of an ARN ends up in a host name or a path, so nothing else may be
// in it.
var arnParts = regexp.MustCompile(`^[a-z0-9-]+:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?$`)

// ParseARN takes a queue's ARN apart.
func ParseARN(s string) (Identity, error) {
	a, err := arn.Parse(s)
	if err != nil {
		return Identity{}, fmt.Errorf("%q is not an ARN", s)
	}
	parts := strings.Join([]string{a.Partition, a.Region, a.AccountID, a.Resource}, ":")
	if a.Service != "sqs" || !arnParts.MatchString(parts) {
		return Identity{}, fmt.Errorf("%q is not the ARN of an SQS queue", s)
	}
	return Identity{Partition: a.Partition, Region: a.Region, Account: a.AccountID, Name: a.Resource}, nil
}

// NameOf is the queue's name in an ARN, however odd the rest of it is.
func NameOf(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

// dnsSuffixes has the partitions that the SDK's endpoint rules know. The rules
// answer with a host of the aws partition for any region they do not know, so
// the suffix of the answer is checked against this.
var dnsSuffixes = map[string]string{
	"aws":        "amazonaws.com",
	"aws-cn":     "amazonaws.com.cn",
	"aws-eusc":   "amazonaws.eu",
	"aws-iso":    "c2s.ic.gov",
	"aws-iso-b":  "sc2s.sgov.gov",
	"aws-iso-e":  "cloud.adc-e.uk",
	"aws-iso-f":  "csp.hci.ic.gov",
	"aws-us-gov": "amazonaws.com",
}

// URL finds the queue's URL without a call where it can: under the client's own
// endpoint if one is configured, else by the SDK's endpoint rules for the ARN's
// region and partition. For a partition that they do not know it asks SQS,
// which needs the permission sqs:GetQueueUrl.
func (id Identity) URL(ctx context.Context, client *sqs.Client) (string, error) {
	if base := client.Options().BaseEndpoint; base != nil {
		return url.JoinPath(*base, id.Account, id.Name)
	}
	ep, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sqs.EndpointParameters{Region: &id.Region})
	suffix := dnsSuffixes[id.Partition]
	if err == nil && suffix != "" && strings.HasSuffix(ep.URI.Host, id.Region+"."+suffix) {
		return ep.URI.JoinPath(id.Account, id.Name).String(), nil
	}
	answer, err := id.ask(ctx, client)
	if err != nil {
		return "", fmt.Errorf("the URL of queue %s in partition %s: %w", id.Name, id.Partition, err)
	}
	return answer, nil
}

// ask asks SQS for the URL.
func (id Identity) ask(ctx context.Context, client *sqs.Client) (_ string, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &id.Name, QueueOwnerAWSAccountId: &id.Account},
		func(o *sqs.Options) { o.Region = id.Region })
	if err != nil {
		return "", err
	}
	return aws.ToString(out.QueueUrl), nil
}
