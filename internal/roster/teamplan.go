package roster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/teamfile"
)

// check returns why lead cannot lead a team, before a part of the team is started.
func (m *Manager) check(f teamfile.Team, lead agent.Spec) error {
	var errs []error
	for _, member := range f.Members {
		spec, err := m.checkMember(f.Name, lead, member)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", memberPlace(f, member), err))
		} else if member.Leads != nil {
			errs = append(errs, m.check(*member.Leads, spec))
		}
	}
	return errors.Join(errs...)
}

// memberPlace names a member of a file in an error.
func memberPlace(f teamfile.Team, member teamfile.Member) string {
	text := member.Name + " of team " + f.Name
	if f.Path == "" || member.Line == 0 {
		return text
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, member.Line, text)
}

// checkMember returns the member that exists, or that would be started.
func (m *Manager) checkMember(name string, lead agent.Spec, member teamfile.Member) (agent.Spec, error) {
	if member.Agent != "" {
		t, err := m.roster.Find(member.Agent)
		if err != nil {
			return agent.Spec{}, err
		}
		return t.Spec(), nil
	}
	for _, in := range m.agents.Teams(lead) {
		if in.Lead != lead.ID || in.Name != name {
			continue
		}
		if t, err := m.roster.Reach(agent.Spec{}, in.Team+"/"+member.Name); err == nil && !m.agents.IsFinal(t.ID()) {
			return t.Spec(), nil
		}
	}
	return m.agents.PlanTeammate(lead, coordinator.Teammate{Team: agent.Membership{Name: name, Lead: lead.ID}, Call: callOf(member)})
}

func callOf(member teamfile.Member) spawn.Call {
	c := spawn.Call{
		Name: member.Name, Type: member.Type, Prompt: member.Prompt, Model: member.Model, Effort: member.Effort, Mode: member.Mode, Dir: member.Cwd, MaxTurns: member.MaxTurns,
		Description: mailbox.FirstLine(member.Prompt, 80),
	}
	if member.Worktree {
		c.Isolation = "worktree"
	}
	if member.PlanRequired {
		c.Mode = "plan"
	}
	return c
}

func seedsOf(in agent.Membership, tasks []teamfile.Task) []Seed {
	seeds := make([]Seed, len(tasks))
	for i, t := range tasks {
		n := board.New{Subject: t.Subject, Description: t.Description, Writes: t.Writes, Owner: t.Owner}
		seeds[i] = Seed{Key: t.Key, After: t.After, New: n}
		if t.Owner != "" {
			seeds[i].Owner = in.Team + "/" + t.Owner
		}
	}
	return seeds
}

// seed performs a step for the first tasks of a team, unless all steps are done.
func (m *Manager) seed(ctx context.Context, in agent.Membership, lead *transcript.Transcript, seeds []Seed,
	step func(context.Context, *board.Board, *transcript.Transcript, []Seed) error,
) error {
	if in.Seeded || len(seeds) == 0 {
		return nil
	}
	b, err := m.boards.Get(ctx, m.o.List(in.Team))
	if err != nil {
		return err
	}
	return step(ctx, b, lead, seeds)
}

// markSeeded records that the first tasks of a team, if there are any, are on its list.
func (m *Manager) markSeeded(in agent.Membership, lead *transcript.Transcript, tasks int) error {
	has := slices.Clone(m.agents.Teams(lead.Spec()))
	at := slices.IndexFunc(has, func(x agent.Membership) bool { return x.Team == in.Team })
	if at < 0 || has[at].Seeded || tasks == 0 {
		return nil
	}
	has[at].Seeded = true
	return lead.SetTeams(has)
}
