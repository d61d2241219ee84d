package node

import (
	"context"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/autojudge"
	"github.com/actorswarm/swarm/internal/hookjudge"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/builtin"
)

// newJudge returns what answers the questions of hooks.
func (n *Node) newJudge() *hookjudge.Judge {
	return hookjudge.New(hookjudge.Options{
		Model: n.options.Models.Find, Admit: n.admit, Tools: n.judgeTools,
		Name: func(a agent.Spec) string { return n.options.Models.Fast(a.Model) },
	})
}

// AutoModelVariable names the model that judges calls in mode auto.
const AutoModelVariable = "SWARM_AUTO_MODEL"

// newAutoJudge returns what judges calls in mode auto.
func (n *Node) newAutoJudge() *autojudge.Judge {
	return autojudge.New(autojudge.Options{
		Ask: n.newJudge().Ask, Model: n.options.Getenv(AutoModelVariable), Instructions: n.options.Definitions.projectText,
	})
}

// bytesPerToken is lower than in text and JSON, so that the estimate is rather too high.
const bytesPerToken = 3

// admit reserves a request in the budgets that bound an agent. The function that it
// returns charges the request.
func (n *Node) admit(ctx context.Context, a agent.Spec, req *model.Request) (func(*model.Answer), error) {
	ask := n.Agents.Ask(req.Model, int64(len(req.AppendBody(nil)))/bytesPerToken+1, req.MaxTokens)
	r, err := n.Agents.Reserve(ctx, a.ID, ask)
	if err != nil {
		return nil, err
	}
	done := func() {}
	if ask.MaxOutput = r.Output; n.services.Owner != nil {
		if ask.MaxOutput, done, err = n.services.Owner.Reserve(ctx, ask); err != nil {
			r.Commit(budget.Amount{})
			return nil, err
		}
	}
	req.MaxTokens = int(ask.MaxOutput)
	return func(answer *model.Answer) {
		defer done()
		used := budget.Amount{}
		if answer != nil {
			cost := n.options.Prices.Cost(answer.Usage, req.Model, answer.Model).USD
			used = budget.Amount{Money: cost, Tokens: answer.Usage.Total(), Requests: 1}
		}
		r.Commit(used)
	}, nil
}

// judgeTools returns the tools that read, for what an agent may read without being asked
// about.
func (n *Node) judgeTools(a agent.Spec) (*tool.Set, func() error) {
	all := builtin.New(builtin.Env{
		Dir: a.Dir, Home: n.options.Home, AddDirs: n.workingDirs(a), Conceals: n.conceals(a), Hidden: n.options.hidden(),
		Tag: string(a.ID), Session: n.options.Session, Getenv: n.options.Getenv, Scope: n.scope,
	})
	var reading []tool.Tool
	for _, t := range tool.NewSet(all...).Only([]string{"Read", "Grep", "Glob"}).All() {
		reading = append(reading, allowedReader{t, n, a})
	}
	return tool.NewSet(reading...), func() error { return builtin.Close(all) }
}

// allowedReader is a tool that refuses what the rules of an agent do not allow.
type allowedReader struct {
	tool.Tool
	n *Node
	a agent.Spec
}

func (r allowedReader) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	d := permission.Decide(r.n.permission(r.a), permission.Request{Tool: c.Name, Input: c.Input, ReadOnly: true, Cwd: r.a.Dir})
	if d.Behavior != permission.Allow {
		return tool.Errorf("permission denied: %s", d.Reason), nil
	}
	return r.Tool.Run(ctx, c)
}
