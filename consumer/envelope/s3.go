package envelope

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/ackwise/ackwise/consumer"
)

// S3Record is one thing that happened to an object, the same for [S3] and
// [S3EventBridge] but for the words of Event. All but Bucket, Key and RawKey may be
// empty.
type S3Record struct {
	// Event is what happened: "ObjectCreated:Put" by S3's own notification,
	// "Object Created" (the detail-type) by EventBridge.
	Event string
	// Time is when S3 was done with the request.
	Time time.Time
	// Region is the region of the bucket.
	Region string
	// Bucket is the name of the bucket.
	Bucket string
	// Key is the object's key, to be used in calls of S3 as it is.
	Key string
	// RawKey is the key as it stands in the message. S3 encodes the keys in its own
	// notifications as in a URL's query ("red flower.jpg" becomes
	// "red+flower.jpg", says the S3 user guide under "Event message structure"). Keys
	// in events of EventBridge are not encoded; there RawKey is the same as Key.
	RawKey string
	// VersionID is the version of the object, in a bucket with versioning.
	VersionID string
	// ETag is the object's entity tag, without quotation marks.
	ETag string
	// Size is the object's size in bytes. 0 if the message does not say it, as with
	// deletions.
	Size int64
	// Sequencer orders the creations and deletions of one key: the greater one, as a
	// hexadecimal number filled up with zeros on the right to the same length, came
	// later. Notifications may arrive in any order.
	Sequencer string
	// Raw is the record as it was sent, for what has no field here; for EventBridge
	// it is the detail.
	Raw json.RawMessage
}

// testEvent is what S3 sends to a queue or topic when a bucket's notifications are
// set up (S3 user guide, "Event message structure").
const testEvent = "s3:TestEvent"

func isTestEvent(o object) bool {
	return o.text("Service") == "Amazon S3" && o.text("Event") == testEvent && o.text("Bucket") != "" && !o.has("Records")
}

// eventSourceS3 is in every record that S3 writes. What has a member s3 and another
// source is of some other service, with rules of its own for keys.
const eventSourceS3 = "aws:s3"

// S3 makes a handler for the notifications that a bucket sends to a queue, out of a
// function that takes one record. For a bucket that sends them to a topic, wrap
// what S3 returns in [SNS]. m is the message as SNS or the queue gave it; the
// function must not change it.
//
// The test event that S3 sends when notifications are set up is acknowledged; the
// function is not called. A body that is neither that nor has records of S3 (their
// eventSource is aws:s3) is a permanent failure, an [*Error]. So is one with a record
// of another source or that cannot be read, and the function is not called for its
// other records either.
//
// A notification has a list of records, usually of one. They are handed to the
// function in their order, one after another, also those that follow a failure. The
// message is done when it was called for all and returned nil for all. Otherwise
// all records come again with the message, those that were done too, so the
// function must not mind a record that it has seen. The failure is permanent only
// if the failure of every record that failed is: as long as trying again may help
// one record, it is tried again. Of several times that [retry.After] asks for the
// first one counts. When the context ends no further record is begun.
//
// Idempotency and attempts go by messages, not by records: completing the claim in
// a transaction of the function's completes the message, whose other records would
// be lost. For that, decode with [S3Records] and commit all records together.
func S3(fn func(ctx context.Context, r S3Record, m *consumer.Message) error) consumer.Handler {
	if fn == nil {
		return nil // consumer.New says so, at construction
	}
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		records, err := S3Records(m)
		if err != nil {
			return err
		}
		return each(ctx, records, m, fn)
	})
}

// S3EventBridge is [S3] for a bucket that sends its events to EventBridge, and a
// rule that sends them to the queue. There is one record in a message, and its error
// is the message's. A body that is no event of source aws.s3 with a bucket and a key
// is a permanent failure, an [*Error]; what CloudTrail says about S3 is one of those.
func S3EventBridge(fn func(ctx context.Context, r S3Record, m *consumer.Message) error) consumer.Handler {
	if fn == nil {
		return nil // consumer.New says so, at construction
	}
	return consumer.HandlerFunc(func(ctx context.Context, m *consumer.Message) error {
		r, err := recordOfEvent(m.Body)
		if err != nil {
			return err
		}
		return fn(ctx, r, m)
	})
}

// S3Records decodes a notification as [S3] does, for a handler that takes all of its
// records together. It returns none and no error for S3's test event.
func S3Records(m *consumer.Message) ([]S3Record, error) {
	const advice = "find out who else sends to this queue; its policy should admit the bucket only"
	o, err := parse([]byte(m.Body))
	if err != nil {
		return nil, unlike(wantS3, nil, err, advice)
	}
	if isTestEvent(o) {
		return nil, nil
	}
	if !hasS3Record(o) {
		return nil, unlike(wantS3, o, nil, advice)
	}
	raws := list[json.RawMessage](o, "Records")
	records := make([]S3Record, len(raws))
	for i, raw := range raws {
		if records[i], err = recordOf(raw); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// hasS3Record reports whether the first record of a notification is one of S3;
// recordOf judges the others.
func hasS3Record(o object) bool {
	records := list[json.RawMessage](o, "Records")
	if len(records) == 0 {
		return false
	}
	first, err := parse(records[0])
	return err == nil && first.begins("s3", '{') && first.text("eventSource") == eventSourceS3
}

// recordOf reads a record of S3's own notification.
func recordOf(raw json.RawMessage) (S3Record, error) {
	o, err := parse(raw)
	if err != nil {
		return S3Record{}, broken(wantS3, "one with a record that is "+err.Error())
	}
	if o.text("eventSource") != eventSourceS3 {
		return S3Record{}, broken(wantS3, "one with a record whose eventSource is not "+eventSourceS3)
	}
	s3, err := o.object("s3")
	if err != nil {
		return S3Record{}, broken(wantS3, "one with a record whose s3 is "+err.Error())
	}
	r := S3Record{Event: o.text("eventName"), Time: o.instant("eventTime"), Region: o.text("awsRegion"), Raw: raw}
	if err := r.fill(s3, wantS3, "versionId", "eTag"); err != nil {
		return S3Record{}, err
	}
	if r.Key, err = url.QueryUnescape(r.RawKey); err != nil {
		return S3Record{}, broken(wantS3, "one with a key that is not URL-encoded")
	}
	return r, nil
}

const sourceS3 = "aws.s3"

// recordOfEvent reads an event of S3 that came by EventBridge.
func recordOfEvent(body string) (S3Record, error) {
	o, err := parse([]byte(body))
	if err != nil || o.text("source") != sourceS3 || o.text("detail-type") == "" || !o.has("detail") {
		return S3Record{}, unlike(wantS3Event, o, err, "let the rule match source aws.s3, without an input path or an input transformer")
	}
	detail, err := o.object("detail")
	if err != nil {
		return S3Record{}, broken(wantS3Event, "one whose detail is "+err.Error())
	}
	r := S3Record{Event: o.text("detail-type"), Time: o.instant("time"), Region: o.text("region"), Raw: o["detail"]}
	if err := r.fill(detail, wantS3Event, "version-id", "etag"); err != nil {
		return S3Record{}, err
	}
	r.Key = r.RawKey // not encoded; what decodes it breaks keys with a + or a %
	return r, nil
}

// fill reads what stands in bucket and object, whose members are named a little
// differently by either way.
func (r *S3Record) fill(o object, want, versionID, etag string) error {
	bucket, err := o.object("bucket")
	if err != nil {
		return broken(want, "one whose bucket is "+err.Error())
	}
	item, err := o.object("object")
	if err != nil {
		return broken(want, "one whose object is "+err.Error())
	}
	if r.Bucket, r.RawKey = bucket.text("name"), item.text("key"); r.Bucket == "" || r.RawKey == "" {
		return broken(want, "one without the name of a bucket or the key of an object")
	}
	if item.has("size") && json.Unmarshal(item["size"], &r.Size) != nil {
		return broken(want, "one with a size that is no whole number") // 0 would be taken for an empty object
	}
	r.VersionID, r.ETag, r.Sequencer = item.text(versionID), item.text(etag), item.text("sequencer")
	return nil
}
