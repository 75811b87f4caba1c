package sqstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// failedItems reads a function's answer by the rules of
// ReportBatchItemFailures and returns the ids it lists. An error means that
// Lambda takes the whole batch for failed. Names are compared as they are
// spelled, since a list under another name is no list.
//
// Documented in the Lambda guide ("Reporting batch item failures" for SQS):
// success for an empty answer, null, {} and an empty or null list; failure for
// an identifier that is empty, null, under a wrong name or not of the batch, and
// for what is not JSON. Other JSON than an object is not documented; it is taken
// for a failure, as users saw it happen.
func failedItems(response []byte, batch []*record) (map[string]bool, error) {
	response = bytes.TrimSpace(response)
	failed := make(map[string]bool)
	if len(response) == 0 || string(response) == "null" {
		return failed, nil
	}
	if !json.Valid(response) {
		return nil, errors.New("the answer is not JSON")
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(response, &answer); err != nil {
		return nil, errors.New("the answer is not a JSON object")
	}
	list, ok := answer["batchItemFailures"]
	if !ok {
		return failed, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, errors.New("batchItemFailures is not a list of objects")
	}
	sent := make(map[string]bool, len(batch))
	for _, r := range batch {
		sent[r.id] = true
	}
	for i, item := range items {
		id, err := identifier(item)
		if err != nil {
			return nil, fmt.Errorf("batchItemFailures[%d] %w", i, err)
		}
		if !sent[id] {
			return nil, fmt.Errorf("batchItemFailures[%d] names %q, which is not in the batch", i, id)
		}
		failed[id] = true
	}
	return failed, nil
}

// identifier returns the itemIdentifier of an item. A null item is an empty one.
func identifier(item map[string]json.RawMessage) (string, error) {
	raw, ok := item["itemIdentifier"]
	if !ok {
		return "", errors.New("has no itemIdentifier")
	}
	var id *string
	if err := json.Unmarshal(raw, &id); err != nil {
		return "", errors.New("has an itemIdentifier that is not a string")
	}
	if id == nil || *id == "" {
		return "", errors.New("has an empty itemIdentifier")
	}
	return *id, nil
}
