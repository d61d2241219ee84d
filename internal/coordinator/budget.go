package coordinator

import (
	"context"
	"errors"

	"golang.org/x/time/rate"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/coordinator/accounts"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// budgets bound what agents use, and how fast they are started.
type budgets struct {
	store    *transcript.Store
	model    func(name string) (model.Model, string, error)
	accounts *accounts.Tree
	spawns   *rate.Limiter // agents started by others
}

// spawnLimiter allows as many agents at once as may start in a second.
func spawnLimiter(perSecond float64) *rate.Limiter {
	if perSecond < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}

// Nested returns what this process has charged besides the requests of one agent.
func (b *budgets) Nested(l agent.Record) budget.Amount {
	l.Nested = budget.Amount{}
	return b.accounts.Used().Minus(b.accounts.UsedBy(l))
}

// Reservation is a request in flight.
type Reservation struct {
	// Output is the most tokens that the answer may have.
	Output int64
	// Commit ends the reservation and charges what the request has used; nothing if
	// there was no answer. Only the first call counts.
	Commit func(used budget.Amount)
}

// Reserve reserves a request of a remote agent in the accounts here that bound it.
func (b *budgets) Reserve(ctx context.Context, id mailbox.AgentID, k budget.Request) (*Reservation, error) {
	r, err := b.accounts.Of(id).Reserve(ctx, k)
	if err != nil {
		return nil, err
	}
	return &Reservation{Output: r.Output, Commit: r.Commit}, nil
}

// Ask returns what a request to a model may use, for Reserve.
func (b *budgets) Ask(id string, input int64, output int) budget.Request {
	return b.accounts.Ask(id, input, output)
}

// Bounded reports whether a budget with a limit bounds an agent.
func (b *budgets) Bounded(id mailbox.AgentID) bool { return b.accounts.Of(id).Bounded() }

// admit reserves a request of the agent in the budgets that bound it. The function that
// it returns charges the request.
func (h *host) admit(ctx context.Context, req *model.Request) (func(*model.Answer), error) {
	input, err := h.sizeOf(req)
	if err != nil {
		return nil, err
	}
	ask := h.c.accounts.Ask(req.Model, input, req.MaxTokens)
	ask.OnWait = func() { h.moveTo(state.Waiting, state.WaitsForBudget) }
	r, err := h.c.accounts.Of(h.t.ID()).Reserve(ctx, ask)
	if err != nil {
		return nil, overBudget(err)
	}
	done := func() {}
	ask.MaxOutput = r.Output
	if o := h.c.opts.Owner; o != nil {
		if ask.MaxOutput, done, err = o.Reserve(ctx, ask); err != nil {
			r.Commit(budget.Amount{})
			return nil, overBudget(err)
		}
	}
	req.MaxTokens = int(ask.MaxOutput)
	return func(a *model.Answer) {
		defer done()
		if a == nil {
			r.Commit(budget.Amount{}) // its cost is not known
			return
		}
		r.Commit(budget.Amount{
			Money: h.c.opts.Prices.Cost(a.Usage, req.Model, a.Model).USD, Tokens: a.Usage.Total(), Requests: 1,
		})
	}, nil
}

// overBudget makes a refusal of a budget the outcome of the turn.
func overBudget(err error) error {
	if errors.As(err, new(*budget.ExceededError)) || errors.As(err, new(*budget.UnpricedError)) {
		return overBudgetError{err}
	}
	return err
}

// overBudgetError is turn.ErrOverBudget without its text, which the outcome of the turn
// shows.
type overBudgetError struct{ error }

func (e overBudgetError) Is(target error) bool { return target == turn.ErrOverBudget }
func (e overBudgetError) Unwrap() error        { return e.error }

// sizeOf estimates the input of a request in tokens: the part that the model has counted,
// and the part that is new.
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

// bytesPerToken is lower than in text and JSON, so that the estimate is rather too high.
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

// admitSpawn refuses an agent whose requests would all be refused, and waits while too
// many have been started.
func (b *budgets) admitSpawn(ctx context.Context, spec agent.Spec) error {
	if err := b.CheckRemaining(spec.Model, spec.Parent); err != nil {
		return err
	}
	return b.spawns.Wait(ctx)
}

// Priced returns an error if limits of money bound an agent and the price of a model, or
// of one that was used before, is not known. It is a *budget.UnpricedError.
func (b *budgets) Priced(name string, id mailbox.AgentID) error {
	if err := b.accounts.Unpriced(b.store.All()); err != nil {
		return err
	}
	if err := b.CheckRemaining(name, id); errors.As(err, new(*budget.UnpricedError)) {
		return err
	}
	return nil
}

// CheckRemaining returns an error if the budgets that bound an agent allow no request to a model.
// It is a *budget.ExceededError or a *budget.UnpricedError.
func (b *budgets) CheckRemaining(name string, id mailbox.AgentID) error {
	_, exact, err := b.model(name)
	if err != nil {
		return nil // the first request reports what is wrong with the model
	}
	return b.accounts.Of(id).CheckRemaining(b.accounts.Ask(exact, 0, accounts.FloorTokens))
}

// Prices are the prices of models.
type Prices interface {
	agent.Prices
	// AtMost returns the most that one request to a model can cost whose input has
	// so many tokens: the input, and each token of output; ok is false if the price is
	// not known.
	AtMost(model string, input int64) (in, perOutput budget.USD, ok bool)
}
