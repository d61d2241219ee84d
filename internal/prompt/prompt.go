package prompt

import (
	"strings"

	"github.com/actorswarm/swarm/defs"
)

// Input holds the sources of a system prompt. Only Definition is required.
type Input struct {
	Definition defs.Definition
	// Base replaces the body and the default prompt.
	Base string
	// Memory is the note on the agent's memory.
	Memory string
	// Role describes how the agent works with others.
	Role string
	// Environment describes where the agent works.
	Environment string
	// Instructions are the CLAUDE.md files, and Managed those of the organisation
	// alone, for agents that omit the others.
	Instructions, Managed string
	// Git returns the state of the repository; nil is none. It is not called for a
	// one-shot agent.
	Git func() string
}

// Step is one part of a system prompt.
type Step struct {
	// Name is body, default, given, memory, plugin, role, environment,
	// instructions, git or reminder.
	Name string
	Text string
	// Note is the origin of the text, or what was done.
	Note string
}

// Build returns the steps of a system prompt that have a text, in order. The step plugin
// has no text: its note lists the values inserted into the steps before it.
func Build(in Input) []Step {
	d := in.Definition
	steps := add(nil, first(in))
	steps = add(steps, Step{"memory", in.Memory, "memory: " + d.Memory})
	steps = expand(steps, d.Plugin)
	steps = add(steps, Step{"role", in.Role, "how it works with others"})
	steps = add(steps, Step{"environment", in.Environment, "where it works"})
	if d.OmitClaudeMD {
		steps = add(steps, Step{"instructions", in.Managed, "those of the organisation only: omitClaudeMd"})
	} else {
		steps = add(steps, Step{"instructions", in.Instructions, "CLAUDE.md files"})
	}
	if in.Git != nil && !d.OneShot { // a one-shot agent needs no history
		steps = add(steps, Step{"git", in.Git(), "the repository when the session began"})
	}
	return add(steps, Step{"reminder", d.CriticalReminder, "criticalSystemReminder"})
}

func first(in Input) Step {
	d := in.Definition
	switch {
	case in.Base != "":
		return Step{"given", in.Base, "given for this agent"}
	case d.Body != "":
		return Step{"body", d.Body, d.Path}
	}
	return Step{"default", d.Prompt(), "the definition has no body"}
}

func add(steps []Step, s Step) []Step {
	if strings.TrimSpace(s.Text) == "" {
		return steps
	}
	return append(steps, s)
}

// expand replaces the placeholders of a plugin by their values.
func expand(steps []Step, p *defs.PluginInfo) []Step {
	if p == nil {
		return steps
	}
	note, missing := "nothing to put in", []string(nil)
	for i := range steps {
		text, none := p.Expand(steps[i].Text)
		if text != steps[i].Text {
			note = "the values of the plugin " + p.Name + " are put in"
		}
		steps[i].Text, missing = text, append(missing, none...)
	}
	if len(missing) > 0 {
		note += "; without a value: " + strings.Join(missing, ", ")
	}
	return append(steps, Step{"plugin", "", note})
}

// Blocks joins steps into the blocks of a request: what the agent is, where it works, and
// one block for each other step, so that equal parts of different agents remain equal
// blocks.
func Blocks(steps []Step) []string {
	var who []string
	var rest []string
	for _, s := range steps {
		switch {
		case s.Text == "":
		case s.Name == "environment" || s.Name == "instructions" || s.Name == "git" || s.Name == "reminder":
			rest = append(rest, s.Text)
		default:
			who = append(who, s.Text)
		}
	}
	return append([]string{strings.Join(who, "\n\n")}, rest...)
}
