package tools

import (
	"fmt"

	"github.com/actorswarm/swarm/agent"
)

// forkDescription ends the list of types that the Agent tool offers.
const forkDescription = "\n- fork: yourself over again, with this whole conversation, for a part of the work whose detail you do not want here. " +
	"Say in the prompt only what this one is to do."

// ForkPlaceholder is the result of every call of the parent's answer as a fork
// sees it. It is the same for all, so that siblings share every byte before
// their directive.
const ForkPlaceholder = "(at work in another agent)"

// forkText explains what a fork is and what it reports. The part that is the same for all
// forks comes first.
const forkText = `You are now a fork: a copy of the agent whose conversation stands above, made for one task. The conversation is what you know, not what you are to go on with; calls in its last answer are at work elsewhere and are not yours. Do the task below yourself, with the tools you have. Start no other agents, ask nobody, and do not talk about the conversation.

When you are done, answer with a report of at most 500 words in these parts, each on its own line, without an introduction:
Scope: what you were asked to do, in one sentence.
Result: what you found or did.
Key files: paths that matter, with line numbers where they help.
Files changed: paths you changed, or none.
Issues: what is open, doubtful or went wrong, or none.

Task: `

// ForkDirective returns the first message of a fork: what it is, and its task.
func ForkDirective(parent, fork agent.Spec, task string) string {
	return forkText + task + worktreeNotice(parent, fork)
}

// worktreeNotice explains that the paths in the conversation of an isolated fork are its
// parent's.
func worktreeNotice(parent, fork agent.Spec) string {
	if fork.Isolation == "" {
		return ""
	}
	return fmt.Sprintf("\n\nYou work in a checkout of your own, %s. Paths below %s in the conversation are your parent's: "+
		"use the same path below your own directory, and read a file again before you change it.", fork.Dir, parent.Dir)
}
