package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"

	"github.com/actorswarm/swarm/internal/account"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// An answer below floorTokens is of no use, so that the request is refused;
// a request does not wait for others to get more than enoughTokens.
const (
	floorTokens  = 1_000
	enoughTokens = 8_000
)

// accounts holds what the agents of a session may use. An agent without limits
// of its own uses the account of the nearest above that has one.
type accounts struct {
	top    *account.Account
	prices *price.Table

	mu  sync.Mutex
	own map[mailbox.AgentID]*account.Account // guarded by mu
	up  map[mailbox.AgentID]mailbox.AgentID  // parents; guarded by mu
}

// newAccounts charges what the agents have used before.
func newAccounts(l budget.Limits, prices *price.Table, all []*transcript.Transcript) *accounts {
	now, worked := time.Now(), workedBelow(all)
	a := &accounts{
		top: account.New("the session", l, now.Add(-worked[""])), prices: prices,
		own: map[mailbox.AgentID]*account.Account{}, up: map[mailbox.AgentID]mailbox.AgentID{},
	}
	for _, t := range all {
		l := t.Life()
		a.open(l.Spec, now.Add(-worked[l.Spec.ID]))
		a.of(l.Spec.ID).Charge(a.usedBy(l))
	}
	return a
}

// usedBy is what an agent has used, with those that live in its process if that
// is another.
func (a *accounts) usedBy(l agent.Record) budget.Amount {
	own := budget.Amount{Money: l.Cost(a.prices).USD, Tokens: l.Usage.Total(), Requests: int64(l.Steps + l.Compactions)}
	return own.Plus(l.Below)
}

// Below is what this process has charged beside the requests of one agent.
func (c *Coordinator) Below(l agent.Record) budget.Amount {
	l.Below = budget.Amount{}
	return c.accounts.top.Used().Minus(c.accounts.usedBy(l))
}

// Reserve reserves a request of an agent that lives elsewhere in the accounts that
// it counts in here.
func (c *Coordinator) Reserve(ctx context.Context, id mailbox.AgentID, k account.Ask) (*account.Reservation, error) {
	return c.accounts.of(id).Reserve(ctx, k)
}

// Bounded reports whether an agent counts in a budget with a limit.
func (c *Coordinator) Bounded(id mailbox.AgentID) bool { return c.accounts.of(id).Bounded() }

// workedBelow returns for each agent how long it or one below it has worked, the
// longest; under "" that of all. Agents stand behind their parents.
func workedBelow(all []*transcript.Transcript) map[mailbox.AgentID]time.Duration {
	worked := map[mailbox.AgentID]time.Duration{}
	for i := len(all) - 1; i >= 0; i-- {
		l := all[i].Life()
		mine := max(worked[l.Spec.ID], l.Worked)
		worked[l.Spec.ID] = mine
		worked[l.Spec.Parent] = max(worked[l.Spec.Parent], mine)
		worked[""] = max(worked[""], mine)
	}
	return worked
}

// open opens the account of an agent that has limits.
func (a *accounts) open(s agent.Spec, since time.Time) {
	above := a.of(s.Parent)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up[s.ID] = s.Parent
	if s.Budget != (budget.Limits{}) && a.own[s.ID] == nil {
		a.own[s.ID] = above.Open(agent.DisplayName(s), s.Budget, since)
	}
}

// of returns the account that an agent uses.
func (a *accounts) of(id mailbox.AgentID) *account.Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ; id != ""; id = a.up[id] {
		if own := a.own[id]; own != nil {
			return own
		}
	}
	return a.top
}

// ask is what a request to a model may use.
func (a *accounts) ask(id string, input int64, output int) account.Ask {
	k := account.Ask{Model: id, Input: input, Output: int64(output), Floor: floorTokens, Enough: enoughTokens}
	p, ok := a.prices.Of(id)
	k.Unpriced = !ok
	k.InputCost, k.TokenCost = p.AtMost(input)
	return k
}

// unpriced says that somebody has used a model that has no price, under a limit
// of money: what is left of it is not known.
func (a *accounts) unpriced(all []*transcript.Transcript) error {
	for _, t := range all {
		l := t.Life()
		for _, u := range l.Models {
			if u.Cost(a.prices).Unknown {
				if err := a.of(l.Spec.ID).Afford(account.Ask{Model: u.Model, Unpriced: true}); errors.As(err, new(*budget.UnpricedError)) {
					return err
				}
			}
		}
	}
	return nil
}

// admit lets a request of the agent out when the budgets it counts in allow it.
func (h *host) admit(ctx context.Context, req *model.Request) (func(*model.Answer), error) {
	input, err := h.sizeOf(req)
	if err != nil {
		return nil, err
	}
	ask := h.c.accounts.ask(req.Model, input, req.MaxTokens)
	ask.Waits = func() { h.moveTo(stateWaiting, waitsForBudget) }
	r, err := h.c.accounts.of(h.t.ID()).Reserve(ctx, ask)
	if err != nil {
		return nil, overBudget(err)
	}
	landed := func() {}
	ask.Output = r.Output
	if o := h.c.opts.Owner; o != nil {
		if ask.Output, landed, err = o.Reserve(ctx, ask); err != nil {
			r.Settle(budget.Amount{})
			return nil, overBudget(err)
		}
	}
	req.MaxTokens = int(ask.Output)
	return func(a *model.Answer) {
		defer landed()
		if a == nil {
			r.Settle(budget.Amount{}) // nobody says what it has cost
			return
		}
		r.Settle(budget.Amount{
			Money: h.c.opts.Prices.Cost(a.Usage, req.Model, a.Model).USD, Tokens: a.Usage.Total(), Requests: 1,
		})
	}, nil
}

// overBudget makes a refusal the outcome of the turn.
func overBudget(err error) error {
	if errors.As(err, new(*budget.OverError)) || errors.As(err, new(*budget.UnpricedError)) {
		return overBudgetError{err}
	}
	return err
}

// overBudgetError is turn.ErrOverBudget, which its text leaves to the outcome
// it stands beside.
type overBudgetError struct{ error }

func (e overBudgetError) Is(target error) bool { return target == turn.ErrOverBudget }
func (e overBudgetError) Unwrap() error        { return e.error }

// sizeOf estimates the input of a request in tokens: what the model itself has
// counted of it, and what is new since.
func (h *host) sizeOf(req *model.Request) (int64, error) {
	d, err := h.t.Draft()
	if err != nil {
		return 0, err
	}
	n := d.Counted.Messages
	if n == 0 || n > len(req.Messages) {
		return inTokens(sizeOf(req.System) + sizeOf(req.Tools) + sizeOfAll(req.Messages)), nil
	}
	return d.Counted.Tokens + inTokens(sizeOfAll(req.Messages[n:])), nil
}

// bytesPerToken is below what text and JSON have, so that the estimate is
// rather too high.
const bytesPerToken = 3

func inTokens(bytes int) int64 { return int64(bytes)/bytesPerToken + 1 }

func sizeOf[T ~[]byte](blocks []T) (n int) {
	for _, b := range blocks {
		n += len(b)
	}
	return n
}

func sizeOfAll(msgs []model.Message) (n int) {
	for _, m := range msgs {
		n += len(m.Raw())
	}
	return n
}

// admitSpawn refuses an agent whose requests would all be refused, and holds it
// back while too many have been started.
func (c *Coordinator) admitSpawn(ctx context.Context, spec agent.Spec) error {
	if err := c.Afford(spec.Model, spec.Parent); err != nil {
		return err
	}
	return c.spawns.Wait(ctx)
}

// Priced says whether the limits of money that an agent counts in can be kept
// with a model, after what was used before. The error is a *account.UnpricedError.
func (c *Coordinator) Priced(name string, id mailbox.AgentID) error {
	if err := c.accounts.unpriced(c.opts.Store.All()); err != nil {
		return err
	}
	if err := c.Afford(name, id); errors.As(err, new(*budget.UnpricedError)) {
		return err
	}
	return nil
}

// Afford says whether the budgets that an agent counts in allow a request to a
// model. The error is a *account.OverError or a *account.UnpricedError.
func (c *Coordinator) Afford(name string, id mailbox.AgentID) error {
	_, exact, err := c.opts.Model(name)
	if err != nil {
		return nil // what is wrong with the model is told when it is asked
	}
	return c.accounts.of(id).Afford(c.accounts.ask(exact, 0, floorTokens))
}
