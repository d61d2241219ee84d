package account

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/actorswarm/swarm/budget"
)

// book is what the accounts of one tree share.
type book struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something in flight has landed; guarded by mu
}

// Account is what one owner may use and has used. Its methods may be called
// from several goroutines.
type Account struct {
	book   *book
	above  *Account
	owner  string
	limits budget.Limits
	since  time.Time // of which Limits.Time counts

	used     budget.Amount // guarded by book.mu
	inFlight budget.Amount // guarded by book.mu
}

// New opens the topmost account of a tree. Its time counts from since.
func New(owner string, l budget.Limits, since time.Time) *Account {
	return &Account{book: &book{changed: make(chan struct{})}, owner: owner, limits: l, since: since}
}

// Open opens an account below a, whose charges are a's too.
func (a *Account) Open(owner string, l budget.Limits, since time.Time) *Account {
	return &Account{book: a.book, above: a, owner: owner, limits: l, since: since}
}

// Used returns what was charged to the account and those below it.
func (a *Account) Used() budget.Amount {
	a.book.mu.Lock()
	defer a.book.mu.Unlock()
	return a.used
}

// Bounded reports whether the account or one above it has a limit.
func (a *Account) Bounded() bool {
	for ; a != nil; a = a.above {
		if a.limits != (budget.Limits{}) {
			return true
		}
	}
	return false
}

// Charge adds what was used without a reservation.
func (a *Account) Charge(n budget.Amount) {
	a.book.mu.Lock()
	defer a.book.mu.Unlock()
	for ; a != nil; a = a.above {
		a.used = a.used.Plus(n)
	}
}

// Reservation is a request in flight.
type Reservation struct {
	// Output is the most tokens that the answer may have.
	Output int64

	account *Account
	held    budget.Amount
	settled bool // guarded by account.book.mu
}

// Reserve lets a request out when it fits into the account and all above it. It
// waits while only what is in flight is in its way. The error is an *OverError,
// an *UnpricedError, or the cause of ctx.
func (a *Account) Reserve(ctx context.Context, k budget.Request) (*Reservation, error) {
	for {
		r, changed, err := a.try(k)
		if r != nil || err != nil {
			return r, err
		}
		if k.Waits != nil {
			k.Waits()
			k.Waits = nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try reserves if the request fits now; else changed tells when to look again.
func (a *Account) try(k budget.Request) (r *Reservation, changed <-chan struct{}, err error) {
	a.book.mu.Lock()
	defer a.book.mu.Unlock()
	floor := min(k.Floor, k.Output)
	alone, free := k.Output, k.Output
	for up := a; up != nil; up = up.above {
		if up.limits.Money > 0 && k.Unpriced {
			return nil, nil, &budget.UnpricedError{Model: k.Model, Owner: up.owner}
		}
		room, kind := up.room(k, up.used)
		if room < floor {
			return nil, nil, up.over(kind, k.Amount(floor))
		}
		alone = min(alone, room)
		room, _ = up.room(k, up.used.Plus(up.inFlight))
		free = min(free, room)
	}
	if free < min(alone, max(k.Enough, floor)) {
		return nil, a.book.changed, nil
	}
	r = &Reservation{Output: free, account: a, held: k.Amount(free)}
	for up := a; up != nil; up = up.above {
		up.inFlight = up.inFlight.Plus(r.held)
	}
	return r, nil, nil
}

// room returns how many tokens an answer may have beside what is taken, below
// zero if not even the input fits, and the limit that says so.
func (a *Account) room(k budget.Request, taken budget.Amount) (tokens int64, by budget.Kind) {
	tokens = math.MaxInt64
	narrow := func(n int64, kind budget.Kind) {
		if n < tokens {
			tokens, by = n, kind
		}
	}
	l := a.limits
	if l.Time > 0 && time.Since(a.since) >= l.Time {
		narrow(-1, budget.Time)
	}
	if l.Requests > 0 && taken.Requests >= l.Requests {
		narrow(-1, budget.Requests)
	}
	if l.Tokens > 0 {
		narrow(l.Tokens-taken.Tokens-k.Input, budget.Tokens)
	}
	if l.Money > 0 {
		switch left := l.Money - taken.Money - k.InputCost; {
		case left < 0:
			narrow(-1, budget.Money)
		case k.TokenCost > 0:
			narrow(int64(left/k.TokenCost), budget.Money)
		}
	}
	return tokens, by
}

// over is the refusal of a request that needs n at least. book.mu is held.
func (a *Account) over(kind budget.Kind, n budget.Amount) *budget.OverError {
	e := &budget.OverError{Kind: kind, Owner: a.owner}
	switch kind {
	case budget.Money:
		e.Used, e.Need, e.Limit = int64(a.used.Money), int64(n.Money), int64(a.limits.Money)
	case budget.Tokens:
		e.Used, e.Need, e.Limit = a.used.Tokens, n.Tokens, a.limits.Tokens
	case budget.Requests:
		e.Used, e.Need, e.Limit = a.used.Requests, 1, a.limits.Requests
	case budget.Time:
		e.Used, e.Limit = int64(time.Since(a.since)), int64(a.limits.Time)
	}
	return e
}

// Settle ends the flight of the request and charges what it has used; nothing
// when it brought no answer. Only the first call counts.
func (r *Reservation) Settle(used budget.Amount) {
	b := r.account.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.settled {
		return
	}
	r.settled = true
	for up := r.account; up != nil; up = up.above {
		up.inFlight, up.used = up.inFlight.Minus(r.held), up.used.Plus(used)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// Afford says whether anything is left for one more request of even the
// smallest size; the error is an *OverError.
func (a *Account) Afford(k budget.Request) error {
	a.book.mu.Lock()
	defer a.book.mu.Unlock()
	for up := a; up != nil; up = up.above {
		if up.limits.Money > 0 && k.Unpriced {
			return &budget.UnpricedError{Model: k.Model, Owner: up.owner}
		}
		if room, kind := up.room(k, up.used); room < k.Floor {
			return up.over(kind, k.Amount(k.Floor))
		}
	}
	return nil
}

// Within returns ctx ended when the time of the account or of one above it is
// over; the cause is what wrap makes of the *OverError.
func (a *Account) Within(ctx context.Context, wrap func(error) error) (context.Context, context.CancelFunc) {
	ends := []context.CancelFunc{}
	for up := a; up != nil; up = up.above {
		if up.limits.Time == 0 {
			continue
		}
		e := &budget.OverError{Kind: budget.Time, Owner: up.owner, Used: int64(up.limits.Time), Limit: int64(up.limits.Time)}
		var end context.CancelFunc
		ctx, end = context.WithDeadlineCause(ctx, up.since.Add(up.limits.Time), wrap(e))
		ends = append(ends, end)
	}
	return ctx, func() {
		for _, end := range ends {
			end()
		}
	}
}
