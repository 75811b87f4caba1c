package dynamostore

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// DefaultTimeout is how long an operation may take where its context allows
// more: twice what the SDK spends on a call that is throttled throughout.
const DefaultTimeout = 10 * time.Second

// minTimeout leaves room for a new connection and one retry. What is shorter is
// a unit forgotten.
const minTimeout = 100 * time.Millisecond

// Config configures a [Store]. The zero value is usable.
type Config struct {
	// Attributes are the names of the attributes. An empty one means its
	// default.
	Attributes Attributes
	// SortKey is the sort key of a table that has one, as a table that holds
	// other things besides does. Default: none, and the table has only a
	// partition key.
	SortKey SortKey
	// Timeout is how long one operation may take, the SDK's retries included,
	// if its context does not end earlier. Default 10 s. The SDK itself has no
	// read timeout: without this one, a connection that hangs would hold a
	// handler of a poller, whose context has no deadline, for ever. At least
	// 100 ms. The consumer gives each call 5 s, so that of its calls only those
	// of [Store.Transact] can take longer.
	Timeout time.Duration
}

// Attributes are the names of the attributes of a record, at most 255 bytes
// each. Names count towards the size of an item: with the defaults the largest
// record has about 950 bytes; above 1,024 each write costs two units (DynamoDB
// developer guide, "Item sizes and formats").
type Attributes struct {
	Key      string // partition key, a string. Default "pk"
	Status   string // string: in_progress, completed, failed, rejected. Default "st"
	Owner    string // string: the token that fences writes. Default "own"
	Lease    string // number, epoch milliseconds; 0 for none. Default "lease"
	Expires  string // number, epoch seconds: the table's TTL attribute. Default "exp"
	Life     string // number: the life that attempts count in. Default "life"
	Attempts string // number. Default "att"
	Hash     string // string: the payload's, if it was hashed. Default "hash"
	Error    string // string: the last failure, if there was one. Default "err"
	Updated  string // number, epoch milliseconds. Default "upd"
	Created  string // number, epoch milliseconds. Default "cre"
}

// SortKey is the sort key that all records have in a shared table.
type SortKey struct {
	// Name is the attribute, a string.
	Name string
	// Value is the same for all records, and tells them from what else the
	// table holds. At most 1,024 bytes.
	Value string
}

// field is one attribute: the placeholder that expressions have for it, the name
// of its Config field, and the name in the table.
type field struct{ placeholder, config, name string }

func (a *Attributes) fields() []field {
	return []field{
		{"#pk", "Attributes.Key", cmp.Or(a.Key, "pk")},
		{"#st", "Attributes.Status", cmp.Or(a.Status, "st")},
		{"#own", "Attributes.Owner", cmp.Or(a.Owner, "own")},
		{"#lease", "Attributes.Lease", cmp.Or(a.Lease, "lease")},
		{"#exp", "Attributes.Expires", cmp.Or(a.Expires, "exp")},
		{"#life", "Attributes.Life", cmp.Or(a.Life, "life")},
		{"#att", "Attributes.Attempts", cmp.Or(a.Attempts, "att")},
		{"#hash", "Attributes.Hash", cmp.Or(a.Hash, "hash")},
		{"#err", "Attributes.Error", cmp.Or(a.Error, "err")},
		{"#upd", "Attributes.Updated", cmp.Or(a.Updated, "upd")},
		{"#cre", "Attributes.Created", cmp.Or(a.Created, "cre")},
	}
}

// What DynamoDB takes (API reference, UpdateItem; developer guide, "Service,
// account, and table quotas").
const (
	maxKeyBytes     = 2048
	maxSortKeyBytes = 1024
	maxNameBytes    = 255
)

var (
	tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`)
	tableARN  = regexp.MustCompile(`^arn:[a-z-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]{3,255}$`)
)

// New returns a Store in a table of that name or ARN. It makes no call:
// everything that is wrong with its arguments is an error here, and what is
// wrong with the table is found by [Store.Check].
func New(client *dynamodb.Client, table string, cfg Config) (*Store, error) {
	switch {
	case client == nil:
		return nil, errors.New("dynamostore: the client is nil; make one with dynamodb.NewFromConfig")
	case !tableName.MatchString(table) && !tableARN.MatchString(table):
		return nil, fmt.Errorf("dynamostore: table is %q; use the name, 3 to 255 of a-z, A-Z, 0-9, '_', '-' and '.', or the ARN of a table", table)
	case cfg.Timeout != 0 && cfg.Timeout < minTimeout:
		return nil, fmt.Errorf("dynamostore: Timeout is %v; use %v or more, or use 0 for the default of %v", cfg.Timeout, minTimeout, DefaultTimeout)
	}
	if err := cfg.SortKey.validate(); err != nil {
		return nil, err
	}
	fields := cfg.Attributes.fields()
	if err := validateNames(fields, cfg.SortKey.Name); err != nil {
		return nil, err
	}
	s := &Store{
		client: client, table: table, names: make(map[string]string, len(fields)),
		sort: cfg.SortKey, timeout: cmp.Or(cfg.Timeout, DefaultTimeout),
	}
	for _, f := range fields {
		s.names[f.placeholder] = f.name
	}
	return s, nil
}

func (k SortKey) validate() error {
	switch {
	case k.Name == "" && k.Value != "":
		return fmt.Errorf("dynamostore: SortKey.Value is %q without a name; set SortKey.Name to the table's sort key", k.Value)
	case k.Name != "" && k.Value == "":
		return fmt.Errorf("dynamostore: SortKey.Name is %q without a value; set SortKey.Value to what all records have there", k.Name)
	case len(k.Value) > maxSortKeyBytes:
		return fmt.Errorf("dynamostore: SortKey.Value has %d bytes; use at most %d", len(k.Value), maxSortKeyBytes)
	}
	return nil
}

func validateNames(fields []field, sortKey string) error {
	if sortKey != "" {
		fields = append(slices.Clip(fields), field{config: "SortKey.Name", name: sortKey})
	}
	seen := make(map[string]string, len(fields))
	for _, f := range fields {
		if len(f.name) > maxNameBytes {
			return fmt.Errorf("dynamostore: %s has %d bytes; use at most %d", f.config, len(f.name), maxNameBytes)
		}
		if other, taken := seen[f.name]; taken {
			return fmt.Errorf("dynamostore: %s and %s are both %q; give each attribute a name of its own", other, f.config, f.name)
		}
		seen[f.name] = f.config
	}
	return nil
}

// bare is the name of a table given by name or ARN.
func bare(table string) string {
	if i := strings.LastIndexByte(table, '/'); i >= 0 {
		return table[i+1:]
	}
	return table
}
