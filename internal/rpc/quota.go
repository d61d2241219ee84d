package rpc

import (
	"time"

	"golang.org/x/time/rate"
)

// Quota bounds the requests of each caller, so that one does not take the server from the
// others. Zero is no limit.
type Quota struct {
	Concurrent int // requests at the same time
	Requests   int // in a second; twice as many at once
	Bytes      int // likewise
}

// quotas are what callers have used. The server guards them.
type quotas struct {
	limits Quota
	of     map[string]*used
}

type used struct {
	running         int
	requests, bytes *rate.Limiter
}

// maxCallers bounds how many callers are remembered that make no request at the moment.
const maxCallers = 1000

// begin reports whether a caller may make a request of a size. Then it ends with end.
func (q *quotas) begin(caller string, size int, now time.Time) bool {
	if q.limits == (Quota{}) {
		return true
	}
	u := q.of[caller]
	if u == nil {
		u = q.add(caller)
	}
	if q.limits.Concurrent > 0 && u.running >= q.limits.Concurrent || !u.requests.AllowN(now, 1) || !u.bytes.AllowN(now, size) {
		return false
	}
	u.running++
	return true
}

func (q *quotas) end(caller string) {
	if u := q.of[caller]; u != nil {
		u.running--
	}
}

// add adds a caller, and forgets others when there are many.
func (q *quotas) add(caller string) *used {
	for name, u := range q.of {
		if len(q.of) >= maxCallers && u.running == 0 {
			delete(q.of, name)
		}
	}
	u := &used{requests: limiter(q.limits.Requests), bytes: limiter(q.limits.Bytes)}
	if q.of == nil {
		q.of = map[string]*used{}
	}
	q.of[caller] = u
	return u
}

func limiter(each int) *rate.Limiter {
	if each <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(each), 2*each)
}
