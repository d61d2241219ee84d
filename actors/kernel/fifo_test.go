package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFifoIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f fifo
		var model []any
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				f.push(next)
				model = append(model, next)
				next++
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				if got := f.pop(); got != model[0] {
					t.Fatalf("popped %v, want %v", got, model[0])
				}
				model = model[1:]
			},
			"": func(t *rapid.T) {
				if f.len() != len(model) {
					t.Fatalf("length %d, want %d", f.len(), len(model))
				}
				if !slices.Equal(f.buf[f.head:], model) {
					t.Fatalf("holds %v, want %v", f.buf[f.head:], model)
				}
				for i, m := range f.buf[:cap(f.buf)] {
					if m != nil && (i < f.head || i >= len(f.buf)) {
						t.Fatalf("keeps %v alive at %d", m, i)
					}
				}
			},
		})
	})
}
