package account

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/actorswarm/swarm/budget"
)

// ledger is shared by the accounts of one tree.
type ledger struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a reservation ends; guarded by mu
}

// Account holds the limits and the use of one owner. Its methods may be called from several
// goroutines.
type Account struct {
	ledger *ledger
	parent *Account
	owner  string
	limits budget.Limits
	since  time.Time // start of Limits.Time

	used     budget.Amount // guarded by ledger.mu
	reserved budget.Amount // guarded by ledger.mu
}

// New opens the root account of a tree. Its time counts from since.
func New(owner string, l budget.Limits, since time.Time) *Account {
	return &Account{ledger: &ledger{changed: make(chan struct{})}, owner: owner, limits: l, since: since}
}

// Open opens an account below a. Charges to it are charges to a too.
func (a *Account) Open(owner string, l budget.Limits, since time.Time) *Account {
	return &Account{ledger: a.ledger, parent: a, owner: owner, limits: l, since: since}
}

// Used returns the use of the account and those below it.
func (a *Account) Used() budget.Amount {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	return a.used
}

// Bounded reports whether the account or one above it has a limit.
func (a *Account) Bounded() bool {
	for ; a != nil; a = a.parent {
		if a.limits != (budget.Limits{}) {
			return true
		}
	}
	return false
}

// Charge adds use without a reservation.
func (a *Account) Charge(n budget.Amount) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	for ; a != nil; a = a.parent {
		a.used = a.used.Plus(n)
	}
}

// Reservation is a request in flight.
type Reservation struct {
	// Output is the most tokens that the answer may have.
	Output int64

	account   *Account
	held      budget.Amount
	committed bool // guarded by account.ledger.mu
}

// Reserve reserves what a request may use in the account and all above it. It waits while
// only other reservations prevent that. It returns *budget.ExceededError,
// *budget.UnpricedError, or the cause of ctx.
func (a *Account) Reserve(ctx context.Context, k budget.Request) (*Reservation, error) {
	for {
		r, changed, err := a.tryReserve(k)
		if r != nil || err != nil {
			return r, err
		}
		if k.OnWait != nil {
			k.OnWait()
			k.OnWait = nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryReserve reserves if the request fits now; otherwise changed signals the next attempt.
func (a *Account) tryReserve(k budget.Request) (r *Reservation, changed <-chan struct{}, err error) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	floor := min(k.MinOutput, k.MaxOutput)
	alone, free := k.MaxOutput, k.MaxOutput
	for up := a; up != nil; up = up.parent {
		if up.limits.Money > 0 && k.Unpriced {
			return nil, nil, &budget.UnpricedError{Model: k.Model, Owner: up.owner}
		}
		room, kind := up.room(k, up.used)
		if room < floor {
			return nil, nil, up.exceeded(kind, k.Amount(floor))
		}
		alone = min(alone, room)
		room, _ = up.room(k, up.used.Plus(up.reserved))
		free = min(free, room)
	}
	if free < min(alone, max(k.Enough, floor)) {
		return nil, a.ledger.changed, nil
	}
	r = &Reservation{Output: free, account: a, held: k.Amount(free)}
	for up := a; up != nil; up = up.parent {
		up.reserved = up.reserved.Plus(r.held)
	}
	return r, nil, nil
}

// room returns how many tokens an answer may have if taken is used, below zero if not even
// the input fits, and the limit that decides.
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

// exceeded returns the error for a request that needs at least n. ledger.mu is held.
func (a *Account) exceeded(kind budget.Kind, n budget.Amount) *budget.ExceededError {
	e := &budget.ExceededError{Kind: kind, Owner: a.owner}
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

// Commit ends the reservation and charges used, which is zero for a request without an
// answer. Only the first call counts.
func (r *Reservation) Commit(used budget.Amount) {
	b := r.account.ledger
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.committed {
		return
	}
	r.committed = true
	for up := r.account; up != nil; up = up.parent {
		up.reserved, up.used = up.reserved.Minus(r.held), up.used.Plus(used)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// CheckRemaining returns *budget.ExceededError if not even the smallest request fits.
func (a *Account) CheckRemaining(k budget.Request) error {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	for up := a; up != nil; up = up.parent {
		if up.limits.Money > 0 && k.Unpriced {
			return &budget.UnpricedError{Model: k.Model, Owner: up.owner}
		}
		if room, kind := up.room(k, up.used); room < k.MinOutput {
			return up.exceeded(kind, k.Amount(k.MinOutput))
		}
	}
	return nil
}

// WithDeadline returns a context that ends with the time of the account or of one above it;
// the cause is what wrap makes of the *budget.ExceededError.
func (a *Account) WithDeadline(ctx context.Context, wrap func(error) error) (context.Context, context.CancelFunc) {
	ends := []context.CancelFunc{}
	for up := a; up != nil; up = up.parent {
		if up.limits.Time == 0 {
			continue
		}
		e := &budget.ExceededError{Kind: budget.Time, Owner: up.owner, Used: int64(up.limits.Time), Limit: int64(up.limits.Time)}
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
