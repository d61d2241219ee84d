package account_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/account"
	"pgregory.net/rapid"
)

// machine is a tree of accounts beside a plain copy of its sums.
type machine struct {
	accounts []*account.Account
	limits   []budget.Limits
	above    []int
	used     []budget.Amount
	held     []budget.Amount
	flights  []flight
}

type flight struct {
	r       *account.Reservation
	account int
	ask     budget.Request
}

func (m *machine) chain(i int, see func(i int)) {
	for ; i >= 0; i = m.above[i] {
		see(i)
	}
}

func (m *machine) open(t *rapid.T) {
	l := budget.Limits{
		Tokens:   rapid.Int64Range(0, 5000).Draw(t, "tokens"),
		Requests: rapid.Int64Range(0, 12).Draw(t, "requests"),
		Money:    budget.USD(rapid.Int64Range(0, 9000).Draw(t, "money")),
	}
	name := fmt.Sprint("account ", len(m.accounts))
	up := -1
	if len(m.accounts) == 0 {
		m.accounts = append(m.accounts, account.New(name, l, time.Now()))
	} else {
		up = rapid.IntRange(0, len(m.accounts)-1).Draw(t, "above")
		m.accounts = append(m.accounts, m.accounts[up].Open(name, l, time.Now()))
	}
	m.limits, m.above = append(m.limits, l), append(m.above, up)
	m.used, m.held = append(m.used, budget.Amount{}), append(m.held, budget.Amount{})
}

func amount(k budget.Request, out int64) budget.Amount {
	return budget.Amount{Money: k.InputCost + budget.USD(out)*k.TokenCost, Tokens: k.Input + out, Requests: 1}
}

func plus(a, b budget.Amount) budget.Amount {
	return budget.Amount{Money: a.Money + b.Money, Tokens: a.Tokens + b.Tokens, Requests: a.Requests + b.Requests}
}

func minus(a, b budget.Amount) budget.Amount {
	return budget.Amount{Money: a.Money - b.Money, Tokens: a.Tokens - b.Tokens, Requests: a.Requests - b.Requests}
}

func within(n budget.Amount, l budget.Limits) bool {
	return (l.Tokens == 0 || n.Tokens <= l.Tokens) && (l.Requests == 0 || n.Requests <= l.Requests) && (l.Money == 0 || n.Money <= l.Money)
}

// fits reports whether an answer of out tokens fits into an account and all above,
// alone or beside what is in flight.
func (m *machine) fits(i int, k budget.Request, out int64, alone bool) bool {
	ok := true
	m.chain(i, func(i int) {
		n := plus(m.used[i], amount(k, out))
		if !alone {
			n = plus(n, m.held[i])
		}
		ok = ok && within(n, m.limits[i])
	})
	return ok
}

func (m *machine) reserve(t *rapid.T) {
	i := rapid.IntRange(0, len(m.accounts)-1).Draw(t, "account")
	k := budget.Request{
		Input: rapid.Int64Range(0, 900).Draw(t, "input"), InputCost: budget.USD(rapid.Int64Range(0, 900).Draw(t, "cost")),
		TokenCost: budget.USD(rapid.Int64Range(0, 3).Draw(t, "price")), MaxOutput: rapid.Int64Range(1, 900).Draw(t, "output"),
		MinOutput: rapid.Int64Range(1, 100).Draw(t, "floor"), Enough: rapid.Int64Range(1, 400).Draw(t, "enough"),
	}
	floor := min(k.MinOutput, k.MaxOutput)
	noWait, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := m.accounts[i].Reserve(noWait, k)
	switch over := new(budget.ExceededError); {
	case errors.As(err, &over):
		if m.fits(i, k, floor, true) {
			t.Fatalf("refused although it fits: %v", err)
		}
	case err != nil:
		if !m.fits(i, k, floor, true) {
			t.Fatalf("waits although it can never fit")
		}
		if m.fits(i, k, min(k.MaxOutput, max(k.Enough, floor)), false) {
			t.Fatalf("waits although it fits: %v", err)
		}
	default:
		if r.Output < floor || r.Output > k.MaxOutput || !m.fits(i, k, r.Output, false) {
			t.Fatalf("let out with %d tokens, from %d to %d", r.Output, floor, k.MaxOutput)
		}
		m.chain(i, func(i int) { m.held[i] = plus(m.held[i], amount(k, r.Output)) })
		m.flights = append(m.flights, flight{r, i, k})
	}
}

func (m *machine) settle(t *rapid.T) {
	if len(m.flights) == 0 {
		t.Skip("nothing is in flight")
	}
	n := rapid.IntRange(0, len(m.flights)-1).Draw(t, "flight")
	f := m.flights[n]
	m.flights = append(m.flights[:n], m.flights[n+1:]...)
	used := budget.Amount{} // no answer came
	if rapid.Bool().Draw(t, "answered") {
		used = amount(f.ask, rapid.Int64Range(0, f.r.Output).Draw(t, "used"))
	}
	f.r.Commit(used)
	f.r.Commit(used) // only the first counts
	m.chain(f.account, func(i int) {
		m.held[i], m.used[i] = minus(m.held[i], amount(f.ask, f.r.Output)), plus(m.used[i], used)
	})
}

func (m *machine) check(t *rapid.T) {
	for i, a := range m.accounts {
		if a.Used() != m.used[i] {
			t.Fatalf("account %d has used %+v, want %+v", i, a.Used(), m.used[i])
		}
		if !within(plus(m.used[i], m.held[i]), m.limits[i]) {
			t.Fatalf("account %d is over: %+v used, %+v in flight, limits %+v", i, m.used[i], m.held[i], m.limits[i])
		}
	}
}

func TestNoAccountIsEverOverItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{}
		m.open(t)
		t.Repeat(map[string]func(*rapid.T){"": m.check, "open": m.open, "reserve": m.reserve, "settle": m.settle})
	})
}

func ask(in, out int64) budget.Request {
	return budget.Request{Input: in, MaxOutput: out, MinOutput: 10, Enough: 50}
}

func TestARequestWaitsForThoseInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := account.New("the session", budget.Limits{Tokens: 300}, time.Now())
		child := a.Open("child", budget.Limits{}, time.Now())
		first, err := child.Reserve(t.Context(), ask(100, 150))
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan *account.Reservation)
		go func() {
			r, err := a.Reserve(t.Context(), ask(100, 150))
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("it did not wait: 250 of 300 were in flight")
		default:
		}
		first.Commit(budget.Amount{Tokens: 40})
		if r := <-got; r.Output != 150 {
			t.Errorf("it got %d tokens", r.Output)
		}
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := account.New("the session", budget.Limits{Requests: 1}, time.Now())
		if _, err := a.Reserve(t.Context(), ask(1, 50)); err != nil {
			t.Fatal(err)
		}
		why := errors.New("stopped")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer cancel()
		if _, err := a.Reserve(ctx, ask(1, 50)); !errors.Is(err, why) {
			t.Errorf("the wait ended with %v", err)
		}
	})
}

func TestAnAnswerGetsWhatIsLeft(t *testing.T) {
	a := account.New("the session", budget.Limits{Tokens: 300}, time.Now())
	a.Charge(budget.Amount{Tokens: 180})
	r, err := a.Reserve(t.Context(), ask(100, 32_000))
	if err != nil || r.Output != 20 {
		t.Fatalf("%+v, %v; want the 20 tokens that are left", r, err)
	}
	r.Commit(budget.Amount{Tokens: 111})
	_, err = a.Reserve(t.Context(), ask(0, 32_000))
	over := new(budget.ExceededError)
	if !errors.As(err, &over) || *over != (budget.ExceededError{Kind: budget.Tokens, Owner: "the session", Used: 291, Need: 10, Limit: 300}) {
		t.Fatalf("9 tokens are left, which is no answer: %+v", err)
	}
	if err := a.CheckRemaining(budget.Request{MinOutput: 10}); !errors.As(err, &over) {
		t.Errorf("a request can be afforded: %v", err)
	}
	want := "the budget of the session is used up: 291 tokens of 300 tokens, and the next request may need 10 tokens; raise the limit to continue"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

func TestAChargeCountsInAllAccountsAbove(t *testing.T) {
	top := account.New("top", budget.Limits{}, time.Now())
	mid := top.Open("mid", budget.Limits{}, time.Now())
	leaf, other := mid.Open("leaf", budget.Limits{Tokens: 5}, time.Now()), mid.Open("other", budget.Limits{}, time.Now())
	leaf.Charge(budget.Amount{Tokens: 3, Requests: 1})
	other.Charge(budget.Amount{Tokens: 4})
	for a, want := range map[*account.Account]int64{top: 7, mid: 7, leaf: 3, other: 4} {
		if got := a.Used().Tokens; got != want {
			t.Errorf("%d tokens are charged, want %d", got, want)
		}
	}
}

func TestMoneyWithoutAPriceIsRefused(t *testing.T) {
	free := account.New("the session", budget.Limits{Tokens: 1000}, time.Now())
	k := budget.Request{Model: "llama", Unpriced: true, MaxOutput: 10, MinOutput: 1}
	if _, err := free.Reserve(t.Context(), k); err != nil {
		t.Errorf("no money is limited: %v", err)
	}
	if err := free.CheckRemaining(k); err != nil {
		t.Errorf("no money is limited: %v", err)
	}
	bound := free.Open("child", budget.Limits{Money: budget.Dollar}, time.Now())
	_, err := bound.Reserve(t.Context(), k)
	if !errors.As(err, new(*budget.UnpricedError)) || !errors.As(bound.CheckRemaining(k), new(*budget.UnpricedError)) {
		t.Errorf("a limit of money let out what nobody can price: %v", err)
	}
}

func TestTimeIsALimitLikeTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := account.New("the session", budget.Limits{Time: time.Hour}, time.Now().Add(-20*time.Minute)) // used before
		child := a.Open("child", budget.Limits{Time: 2 * time.Hour}, time.Now())
		mine := errors.New("mine")
		ctx, end := child.WithDeadline(t.Context(), func(err error) error { return errors.Join(mine, err) })
		defer end()
		begun := time.Now()
		<-ctx.Done()
		over := new(budget.ExceededError)
		if took := time.Since(begun); took != 40*time.Minute || !errors.As(context.Cause(ctx), &over) || over.Owner != "the session" || !errors.Is(context.Cause(ctx), mine) {
			t.Errorf("ended after %v: %v", took, context.Cause(ctx))
		}
		if _, err := child.Reserve(t.Context(), ask(1, 50)); !errors.As(err, &over) || over.Kind != budget.Time {
			t.Errorf("after its time: %v", err)
		}
	})
}

func TestAnAccountIsBoundedByThoseAbove(t *testing.T) {
	free := account.New("top", budget.Limits{}, time.Now())
	if free.Bounded() || free.Open("child", budget.Limits{}, time.Now()).Bounded() {
		t.Error("it is bounded without a limit")
	}
	bound := free.Open("bound", budget.Limits{Requests: 1}, time.Now())
	if !bound.Bounded() || !bound.Open("child", budget.Limits{}, time.Now()).Bounded() || free.Bounded() {
		t.Error("a limit bounds the account and those below, and no other")
	}
}

func TestARequestThatWaitsSaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := account.New("the session", budget.Limits{Tokens: 100}, time.Now())
		one, err := a.Reserve(t.Context(), budget.Request{MaxOutput: 50, MinOutput: 10, OnWait: func() { t.Error("the first has to wait") }})
		if err != nil {
			t.Fatal(err)
		}
		two, err := a.Reserve(t.Context(), budget.Request{MaxOutput: 50, MinOutput: 10})
		if err != nil {
			t.Fatal(err)
		}
		told, done := 0, make(chan error, 1)
		go func() {
			_, err := a.Reserve(t.Context(), budget.Request{MaxOutput: 80, MinOutput: 80, OnWait: func() { told++ }})
			done <- err
		}()
		for _, r := range []*account.Reservation{one, two} {
			synctest.Wait()
			if told != 1 || len(done) > 0 {
				t.Errorf("it was told %d times, %d are done", told, len(done))
			}
			r.Commit(budget.Amount{})
		}
		if err := <-done; err != nil || told != 1 {
			t.Errorf("%v; it was told %d times", err, told)
		}
	})
}

// Each limit allows what just fits, and the error of what does not has what is used,
// needed and allowed.
func TestEachLimitLetsOutWhatJustFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := budget.Amount{Money: 60, Tokens: 60, Requests: 3}
		for name, c := range map[string]struct {
			limits    budget.Limits
			fits, not budget.Request
			want      budget.ExceededError
		}{
			"tokens": {
				budget.Limits{Tokens: 100},
				budget.Request{Input: 30, MaxOutput: 10, MinOutput: 10},
				budget.Request{Input: 31, MaxOutput: 10, MinOutput: 10},
				budget.ExceededError{Kind: budget.Tokens, Used: 60, Need: 41, Limit: 100},
			},
			"money": {
				budget.Limits{Money: 100},
				budget.Request{InputCost: 20, TokenCost: 2, MaxOutput: 10, MinOutput: 10},
				budget.Request{InputCost: 21, TokenCost: 2, MaxOutput: 10, MinOutput: 10},
				budget.ExceededError{Kind: budget.Money, Used: 60, Need: 41, Limit: 100},
			},
			"money for the input": {
				budget.Limits{Money: 100},
				budget.Request{InputCost: 40, MaxOutput: 10},
				budget.Request{InputCost: 41, MaxOutput: 10},
				budget.ExceededError{Kind: budget.Money, Used: 60, Need: 41, Limit: 100},
			},
			"requests": {
				budget.Limits{Requests: 4},
				budget.Request{MaxOutput: 1, MinOutput: 1},
				budget.Request{},
				budget.ExceededError{Kind: budget.Requests, Used: 4, Need: 1, Limit: 4},
			},
			"the first of two that are equally narrow": {
				budget.Limits{Requests: 4, Time: time.Minute},
				budget.Request{MaxOutput: 1},
				budget.Request{},
				budget.ExceededError{Kind: budget.Time, Used: int64(time.Minute), Limit: int64(time.Minute)},
			},
		} {
			a := account.New("bob", c.limits, time.Now())
			a.Charge(used)
			if err := a.CheckRemaining(c.fits); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			r, err := a.Reserve(t.Context(), c.fits)
			if err != nil || r.Output != c.fits.MaxOutput {
				t.Errorf("%s: %+v, %v", name, r, err)
				continue
			}
			switch c.want.Kind {
			case budget.Requests:
				r.Commit(budget.Amount{Requests: 1})
			case budget.Time:
				r.Commit(budget.Amount{Requests: 1})
				time.Sleep(time.Minute)
			default:
				r.Commit(budget.Amount{})
			}
			c.want.Owner = "bob"
			for _, err := range []error{a.CheckRemaining(c.not), reserve(t, a, c.not)} {
				if over := new(budget.ExceededError); !errors.As(err, &over) || *over != c.want {
					t.Errorf("%s: %+v, want %+v", name, err, c.want)
				}
			}
		}
	})
}

func reserve(t *testing.T, a *account.Account, k budget.Request) error {
	_, err := a.Reserve(t.Context(), k)
	return err
}

// An account without a limit of time below one with such a limit ends with it; its
// own opening counts for its own limit.
func TestAnEndedTimeIsSaidOfItsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := account.New("top", budget.Limits{}, time.Now())
		child := top.Open("child", budget.Limits{Time: time.Minute}, time.Now())
		same := func(err error) error { return err }
		if ctx, end := top.WithDeadline(t.Context(), same); ctx.Err() != nil {
			t.Error(ctx.Err())
		} else if _, limited := ctx.Deadline(); limited {
			t.Error("an account without a limit of time ends")
		} else {
			end()
		}
		ctx, end := child.WithDeadline(t.Context(), same)
		if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Minute {
			t.Errorf("it ends at %v", at)
		}
		end()
		if ctx.Err() == nil {
			t.Error("the end leaves the context")
		}
	})
}
