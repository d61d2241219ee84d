package permission

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/internal/shell"
)

// Sandbox is what the user's settings say about commands and the profile edit.
type Sandbox struct {
	// Enabled holds every command to the profile edit at most, whatever has allowed it.
	Enabled bool
	// AutoAllow allows commands under that profile that no rule is about.
	AutoAllow bool
	// Excluded are commands, as rules for Bash specify them, for which neither holds.
	Excluded []string
	// Unsandboxed lets a call ask for a command for which neither holds. A person has to
	// allow it.
	Unsandboxed bool
}

const (
	sandboxed   = "sandbox"
	unsandboxed = "without the sandbox"
)

// checkUnsandboxed has a person asked about a command that asks for more than the sandbox.
func (c *call) checkUnsandboxed() (Decision, bool) {
	if !c.wantsUnsandboxed() || c.policy.Mode == Bypass {
		return Decision{}, false
	}
	return Decision{Behavior: Ask, Rule: unsandboxed, Reason: "the command asks to run without the sandbox"}, true
}

// orSandboxed allows a command that the sandbox holds and that no rule is about, unless it
// names a file that others run or obey as one that it changes.
func (c *call) orSandboxed(d Decision) Decision {
	if d.Behavior != Ask || d.Rule != noRule || c.tool != "Bash" || c.shell.TooLong || !c.policy.Sandbox.AutoAllow || !c.heldToEdit() {
		return d
	}
	if file := fileRunByOthers(c); file != "" {
		if c.policy.Mode != AcceptEdits { // which says so itself
			d.Reason += fmt.Sprintf("; the sandbox does not allow a change of %s, which others run or obey", file)
		}
		return d
	}
	return Decision{Behavior: Allow, Rule: sandboxed, Reason: "the profile edit holds the command (sandbox.autoAllowBashIfSandboxed)"}
}

// heldToEdit reports whether the settings hold the command to the profile edit.
func (c *call) heldToEdit() bool {
	return c.policy.Sandbox.Enabled && !c.wantsUnsandboxed() && !c.policy.Sandbox.excludes(c.shell)
}

func (c *call) wantsUnsandboxed() bool {
	var wants bool
	if raw, ok := c.input["dangerouslydisablesandbox"]; ok {
		wants = json.Unmarshal(raw, &wants) != nil || wants // what is no answer is asked about
	}
	return wants && c.shell != nil && c.policy.Sandbox.Enabled && c.policy.Sandbox.Unsandboxed
}

// excludes reports whether the settings exclude a part of a command. It still needs a rule
// or a person.
func (s Sandbox) excludes(script *shell.Script) bool {
	return slices.ContainsFunc(script.Commands, func(cmd shell.Command) bool {
		return !cmd.Hidden && slices.ContainsFunc(s.Excluded, func(spec string) bool {
			return matchCommand(spec, cmd.String()) || matchCommand(spec+" *", cmd.String())
		})
	})
}
