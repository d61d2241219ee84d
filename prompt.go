package swarm

import (
	"fmt"
	"runtime"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/prompt"
)

// system returns the system prompt of an agent as blocks, in a fixed order:
// who it is and how it works with others, where it is, and what package prompt
// adds to that.
func (s *Session) system(spec agent.Spec, d defs.Definition) []string {
	in := prompt.Input{Definition: d, Environment: s.environment(spec).String()}
	switch spec.Role {
	case agent.Lead:
		in.Base, in.Role = first(s.opts.System, prompt.Lead), prompt.RoleOfLead
	case agent.Teammate:
		in.Role = prompt.RoleOfTeammate(spec.Name)
	default:
		in.Role = prompt.RoleOfChild
	}
	return prompt.Blocks(prompt.Build(s.shared.Fill(in)))
}

// environment says where the agent works.
func (s *Session) environment(spec agent.Spec) prompt.Environment {
	return prompt.Environment{
		Dir: spec.Dir, Platform: runtime.GOOS + "/" + runtime.GOARCH, Shell: s.opts.Getenv("SHELL"),
		Model: spec.Model, Born: spec.Born, Who: fmt.Sprintf("%s (id %s)", agent.DisplayName(spec), spec.ID),
	}
}
