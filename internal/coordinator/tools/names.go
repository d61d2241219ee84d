package tools

import (
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/tool"
)

// The names of the tools.
const (
	agentName     = "Agent"
	stopName      = "TaskStop"
	outputName    = "TaskOutput"
	QuestionName  = "AskUserQuestion"
	enterPlanName = "EnterPlanMode"
	ExitPlanName  = spawn.ExitPlanMode
)

// Names returns the names of all tools of this package.
func Names() []string {
	return []string{agentName, stopName, outputName, QuestionName, enterPlanName, ExitPlanName}
}

// Asks reports whether a tool asks the user by itself, so that its calls need no
// permission.
func Asks(name string) bool { return name == QuestionName || name == ExitPlanName }

// Waits reports whether the calls of a tool wait for an agent or a person, so that
// they have no deadline of their own.
func Waits(t tool.Tool) bool {
	switch t.(type) {
	case *Agent, *Question, *ExitPlan:
		return true
	}
	return false
}
