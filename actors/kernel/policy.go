package kernel

import (
	"math/rand/v2"
	"time"
)

// RestartPolicy is how often and how soon a panicked actor gets a new
// behavior. A policy is shared: actors keep the pointer and never write to it.
// The zero value, and a nil pointer, allow 3 restarts in 60 s, the first after
// 1 s, each further one after twice the time, at most 60 s.
type RestartPolicy struct {
	Max        int           // restarts allowed Within; negative: none
	Within     time.Duration // the window
	Backoff    time.Duration // before the first restart in a window; negative: none
	MaxBackoff time.Duration // no delay is longer, jitter aside
	Jitter     float64       // adds up to this fraction of the delay, at random; 0 to 1
}

func (p *RestartPolicy) withDefaults() RestartPolicy {
	var out RestartPolicy
	if p != nil {
		out = *p
	}
	if out.Max == 0 {
		out.Max = 3
	}
	if out.Within <= 0 {
		out.Within = time.Minute
	}
	if out.Backoff == 0 {
		out.Backoff = time.Second
	}
	if out.MaxBackoff <= 0 {
		out.MaxBackoff = time.Minute
	}
	return out
}

// delay is how long to wait before the restart that follows the nth panic of
// the window, n from 1.
func (p RestartPolicy) delay(n int) time.Duration {
	if p.Backoff < 0 {
		return 0
	}
	d := min(p.Backoff, p.MaxBackoff)
	for ; n > 1 && d < p.MaxBackoff; n-- {
		d += min(d, p.MaxBackoff-d) // doubled without overflow
	}
	if span := int64(float64(d) * min(p.Jitter, 1)); span > 0 {
		d += time.Duration(rand.Int64N(span + 1))
	}
	return d
}

// recent drops what is older than the window, in place.
func (p RestartPolicy) recent(panics []time.Time, now time.Time) []time.Time {
	old := 0
	for old < len(panics) && now.Sub(panics[old]) >= p.Within {
		old++
	}
	return append(panics[:0], panics[old:]...)
}
