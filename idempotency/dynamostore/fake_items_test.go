package dynamostore_test

import (
	"encoding/json"
	"maps"
	"slices"
)

// wireWrite is what the writes have in common on the wire.
type wireWrite struct {
	TableName                 string
	Key, Item                 wireItem
	UpdateExpression          string
	ConditionExpression       string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues wireItem

	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
}

func (f *fake) updateItem(body []byte) reply {
	var w wireWrite
	if err := json.Unmarshal(body, &w); err != nil {
		return failure("SerializationException", err.Error(), nil)
	}
	old, key, fits := f.look(w)
	if !fits {
		more := map[string]any{}
		if w.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && old != nil {
			more["Item"] = old
		}
		return failure("ConditionalCheckFailedException", "The conditional request failed", more)
	}
	f.items[key] = w.update(old)
	return ok(map[string]any{"Attributes": f.items[key]})
}

// look finds the item that w is about, and whether the condition holds.
func (f *fake) look(w wireWrite) (old wireItem, key string, fits bool) {
	key = f.keyOf(w.TableName, w.Key)
	if w.Item != nil {
		key = f.keyOf(w.TableName, w.Item)
	}
	old = f.items[key]
	return old, key, w.ConditionExpression == "" || w.expression(old, w.ConditionExpression).condition()
}

// update returns what the update makes of the item, which stays as it is.
func (w wireWrite) update(old wireItem) wireItem {
	it := maps.Clone(old)
	if it == nil {
		it = maps.Clone(w.Key)
	}
	w.expression(old, w.UpdateExpression).update(it)
	return it
}

type wireReason struct {
	Code    string
	Message string   `json:",omitempty"`
	Item    wireItem `json:",omitempty"`
}

func (f *fake) transactWriteItems(body []byte) reply {
	var in struct {
		ClientRequestToken string
		TransactItems      []struct{ Put, Update, Delete, ConditionCheck *wireWrite }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return failure("SerializationException", err.Error(), nil)
	}
	if done, again := f.tokens[in.ClientRequestToken]; again {
		return done
	}
	reasons := make([]wireReason, len(in.TransactItems))
	var commit []func()
	for i, it := range in.TransactItems {
		w := firstOf(it.Put, it.Update, it.Delete, it.ConditionCheck)
		old, key, fits := f.look(*w)
		reasons[i].Code = "None"
		if !fits {
			reasons[i] = wireReason{Code: "ConditionalCheckFailed", Message: "The conditional request failed"}
			if w.ReturnValuesOnConditionCheckFailure == "ALL_OLD" {
				reasons[i].Item = old
			}
		}
		commit = append(commit, func() {
			switch w {
			case it.Put:
				f.items[key] = w.Item
			case it.Update:
				f.items[key] = w.update(old)
			case it.Delete:
				delete(f.items, key)
			}
		})
	}
	if slices.ContainsFunc(reasons, func(r wireReason) bool { return r.Code != "None" }) {
		return cancelled(reasons...)
	}
	for _, c := range commit {
		c()
	}
	f.tokens[in.ClientRequestToken] = ok(map[string]any{})
	return f.tokens[in.ClientRequestToken]
}

func firstOf(ws ...*wireWrite) *wireWrite {
	for _, w := range ws {
		if w != nil {
			return w
		}
	}
	return nil
}

func cancelled(reasons ...wireReason) reply {
	return failure("TransactionCanceledException", "Transaction cancelled", map[string]any{"CancellationReasons": reasons})
}
