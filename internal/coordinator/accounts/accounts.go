// Package accounts holds the accounts of a session's agents: what they have used, and
// what they may still use.
//
//	tree := accounts.New(limits, prices, store.All())
//	tree.Open(spec, time.Now()) // when an agent is made
//	r, err := tree.Of(id).Reserve(ctx, tree.Ask(model, input, output))
//
// The accounts follow from the transcripts.
//
// Law:
//
//   - What was used before a restart counts (TestABudgetCountsWhatWasUsedBeforeARestart).
package accounts

import (
	"errors"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/account"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// An answer below FloorTokens is of no use, so that the request is refused;
// a request does not wait for others to get more than enoughTokens.
const (
	FloorTokens  = 1_000
	enoughTokens = 8_000
)

// Prices are the prices of models.
type Prices interface {
	agent.Prices
	// AtMost returns the most that one request to a model can cost whose input has
	// so many tokens: the input, and each token of output; ok is false if the price is
	// not known.
	AtMost(model string, input int64) (in, perOutput budget.USD, ok bool)
}

// Tree holds what the agents of a session may use. An agent without limits
// of its own uses the account of the nearest above that has one.
type Tree struct {
	top    *account.Account
	prices Prices

	mu  sync.Mutex
	own map[mailbox.AgentID]*account.Account // guarded by mu
	up  map[mailbox.AgentID]mailbox.AgentID  // parents; guarded by mu
}

// New makes the accounts of the agents on record, and charges what they have used.
func New(l budget.Limits, prices Prices, all []*transcript.Transcript) *Tree {
	now, worked := time.Now(), workedBelow(all)
	a := &Tree{
		top: account.New("the session", l, now.Add(-worked[""])), prices: prices,
		own: map[mailbox.AgentID]*account.Account{}, up: map[mailbox.AgentID]mailbox.AgentID{},
	}
	for _, t := range all {
		l := t.Record()
		a.Open(l.Spec, now.Add(-worked[l.Spec.ID]))
		a.Of(l.Spec.ID).Charge(a.UsedBy(l))
	}
	return a
}

// UsedBy returns what an agent has used, with the others in its process if that is not
// this one.
func (a *Tree) UsedBy(l agent.Record) budget.Amount {
	own := budget.Amount{Money: l.Cost(a.prices).USD, Tokens: l.Usage.Total(), Requests: int64(l.Steps + l.Compactions)}
	return own.Plus(l.Nested)
}

// workedBelow returns for each agent how long it or one below it has worked, the
// longest; under "" that of all. Agents come after their parents.
func workedBelow(all []*transcript.Transcript) map[mailbox.AgentID]time.Duration {
	worked := map[mailbox.AgentID]time.Duration{}
	for i := len(all) - 1; i >= 0; i-- {
		l := all[i].Record()
		mine := max(worked[l.Spec.ID], l.Worked)
		worked[l.Spec.ID] = mine
		worked[l.Spec.Parent] = max(worked[l.Spec.Parent], mine)
		worked[""] = max(worked[""], mine)
	}
	return worked
}

// Open opens the account of an agent that has limits.
func (a *Tree) Open(s agent.Spec, since time.Time) {
	above := a.Of(s.Parent)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.up[s.ID] = s.Parent
	if s.Budget != (budget.Limits{}) && a.own[s.ID] == nil {
		a.own[s.ID] = above.Open(agent.DisplayName(s), s.Budget, since)
	}
}

// Of returns the account that an agent uses.
func (a *Tree) Of(id mailbox.AgentID) *account.Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ; id != ""; id = a.up[id] {
		if own := a.own[id]; own != nil {
			return own
		}
	}
	return a.top
}

// Ask returns what a request to a model may use.
func (a *Tree) Ask(id string, input int64, output int) budget.Request {
	k := budget.Request{Model: id, Input: input, MaxOutput: int64(output), MinOutput: FloorTokens, Enough: enoughTokens}
	in, out, ok := a.prices.AtMost(id, input)
	k.InputCost, k.TokenCost, k.Unpriced = in, out, !ok
	return k
}

// Unpriced returns an error if an agent has used a model without a price under a limit
// of money: then it is not known what is left.
func (a *Tree) Unpriced(all []*transcript.Transcript) error {
	for _, t := range all {
		l := t.Record()
		for _, u := range l.Models {
			if u.Cost(a.prices).Unknown {
				if err := a.Of(l.Spec.ID).CheckRemaining(budget.Request{Model: u.Model, Unpriced: true}); errors.As(err, new(*budget.UnpricedError)) {
					return err
				}
			}
		}
	}
	return nil
}

// Used returns what all agents have used.
func (a *Tree) Used() budget.Amount { return a.top.Used() }
