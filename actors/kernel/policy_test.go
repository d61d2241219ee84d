package kernel

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDelayDoublesUpToItsLimit(t *testing.T) {
	s := time.Second
	tests := map[string]struct {
		policy *RestartPolicy
		want   []time.Duration
	}{
		"nil":           {nil, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}},
		"zero":          {&RestartPolicy{}, []time.Duration{s, 2 * s}},
		"none":          {&RestartPolicy{Backoff: -1, Jitter: 1}, []time.Duration{0, 0}},
		"limit":         {&RestartPolicy{Backoff: 3 * s, MaxBackoff: 5 * s}, []time.Duration{3 * s, 5 * s, 5 * s}},
		"limit below":   {&RestartPolicy{Backoff: 9 * s, MaxBackoff: 5 * s}, []time.Duration{5 * s, 5 * s}},
		"no overflow":   {&RestartPolicy{Backoff: 1 << 61, MaxBackoff: 1<<63 - 1}, []time.Duration{1 << 61, 1 << 62, 1<<63 - 1, 1<<63 - 1}},
		"tiny back-off": {&RestartPolicy{Backoff: 1, MaxBackoff: 3}, []time.Duration{1, 2, 3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := tt.policy.withDefaults()
			for i, want := range tt.want {
				if got := p.delay(i + 1); got != want {
					t.Errorf("panic %d: delay %v, want %v", i+1, got, want)
				}
			}
		})
	}
}

func TestJitterOnlyAddsItsFraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := RestartPolicy{
			Backoff:    time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "backoff")),
			MaxBackoff: time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "max")),
		}
		jittered := plain
		jittered.Jitter = rapid.Float64Range(0, 2).Draw(t, "jitter")
		n := rapid.IntRange(1, 50).Draw(t, "n")
		low, got := plain.delay(n), jittered.delay(n)
		high := low + time.Duration(float64(low)*min(jittered.Jitter, 1))
		if got < low || got > high {
			t.Fatalf("delay %v outside of %v to %v", got, low, high)
		}
	})
}
