package sqstest

// messageHeap is a binary heap of messages that know their own position in it,
// so that a message which is deleted leaves the heap in logarithmic time.
type messageHeap struct {
	items []*message
	less  func(a, b *message) bool
	slot  func(m *message) *int
}

// newHiddenHeap orders hidden messages by the time they become visible.
func newHiddenHeap() messageHeap {
	return messageHeap{
		less: func(a, b *message) bool {
			if !a.visibleAt.Equal(b.visibleAt) {
				return a.visibleAt.Before(b.visibleAt)
			}
			return a.pos < b.pos
		},
		slot: func(m *message) *int { return &m.hiddenSlot },
	}
}

// newAgeHeap orders messages by the time they were sent, for retention.
func newAgeHeap() messageHeap {
	return messageHeap{
		less: func(a, b *message) bool {
			if !a.sentAt.Equal(b.sentAt) {
				return a.sentAt.Before(b.sentAt)
			}
			return a.pos < b.pos
		},
		slot: func(m *message) *int { return &m.ageSlot },
	}
}

// top returns the first message, nil if there is none.
func (h *messageHeap) top() *message {
	if len(h.items) == 0 {
		return nil
	}
	return h.items[0]
}

func (h *messageHeap) push(m *message) {
	h.items = append(h.items, m)
	*h.slot(m) = len(h.items) - 1
	h.up(len(h.items) - 1)
}

// remove takes m out; it does nothing if m is not in the heap.
func (h *messageHeap) remove(m *message) {
	i := *h.slot(m)
	if i < 0 {
		return
	}
	last := len(h.items) - 1
	h.swap(i, last)
	h.items[last] = nil
	h.items = h.items[:last]
	*h.slot(m) = -1
	if i < last {
		h.up(i)
		h.down(i)
	}
}

func (h *messageHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(h.items[i], h.items[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *messageHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			return
		}
		if right := child + 1; right < len(h.items) && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], h.items[i]) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

func (h *messageHeap) swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*h.slot(h.items[i]) = i
	*h.slot(h.items[j]) = j
}
