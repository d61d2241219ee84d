package swarm

import (
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/protocol"
)

// nodeReport is what a node says at each sign of life.
type nodeReport struct {
	Launch    uint32        `json:"launch"`
	PID       int           `json:"pid"`
	Life      *agent.Record `json:"life,omitempty"`
	State     state.State   `json:"state"`
	Running   bool          `json:"running,omitempty"`
	Unread    int           `json:"unread,omitempty"`
	Questions []event.Question    `json:"questions,omitempty"`
	Known     int           `json:"known"`            // agents that the node has heard of
	Landed    []string      `json:"landed,omitempty"` // requests that Life has the use of
}

// nodeWelcome is the answer to a report.
type nodeWelcome struct {
	Leave      string            `json:"leave,omitempty"` // why the node must end
	Spec       *agent.Spec       `json:"spec,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Attended   bool              `json:"attended,omitempty"`
	AskTimeout time.Duration     `json:"ask_timeout,omitempty"`
	Granted    []string          `json:"granted,omitempty"`
	Members    []agent.Spec      `json:"members,omitempty"`
	Count      int               `json:"count"`             // of agents of the session
	Bounded    bool              `json:"bounded,omitempty"` // requests are reserved with the owner
}

// What the process of an agent asks of the owner of its session, in the agent's name.
// Launch says which start of the process it is: an older one is refused.
type (
	launchIn struct {
		Launch uint32 `json:"launch"`
	}
	nameIn struct { // of an agent
		Name   string `json:"name,omitempty"`
		Launch uint32 `json:"launch"`
	}
	wakeIn struct {
		Name   string          `json:"name,omitempty"`
		By     mailbox.AgentID `json:"by,omitempty"`
		Launch uint32          `json:"launch"`
		// Spec is what By is, if it lives in the process of another agent.
		Spec *agent.Spec `json:"spec,omitempty"`
	}
	planIn struct {
		Name   string                        `json:"name,omitempty"`
		By     mailbox.AgentID               `json:"by,omitempty"`
		Launch uint32                        `json:"launch"`
		Plan   *message.PlanApprovalResponse `json:"plan,omitempty"`
		Key    string                        `json:"key,omitempty"`
	}
	dismissIn struct {
		Name    string            `json:"name,omitempty"`
		Launch  uint32            `json:"launch"`
		Dismiss *actors.Dismissal `json:"dismiss,omitempty"`
	}
	answerShutdownIn struct {
		Launch   uint32                    `json:"launch"`
		Shutdown *message.ShutdownResponse `json:"shutdown,omitempty"`
		Key      string                    `json:"key,omitempty"`
	}
	sessionIn struct { // another one, for a letter
		Name   string        `json:"name,omitempty"`
		Launch uint32        `json:"launch"`
		Kind   mailbox.Kind  `json:"kind,omitempty"`
		Class  mailbox.Class `json:"class,omitempty"`
	}
	nearIn struct {
		Launch uint32 `json:"launch"`
		Most   int    `json:"most,omitempty"`
	}
	reserveIn struct {
		Launch uint32          `json:"launch"`
		Key    string          `json:"key,omitempty"`
		Ask    *budget.Request `json:"ask,omitempty"`
	}

	foundOut struct {
		Found []agent.Spec `json:"found,omitempty"`
	}
	lifeOut struct {
		Life *agent.Record `json:"life,omitempty"`
	}
	endingOut struct {
		Ending *protocol.Shutdown `json:"ending,omitempty"`
	}
	nearOut struct {
		Near []team.Neighbour `json:"near,omitempty"`
	}
	recordOut struct {
		Sight *archive.Snapshot `json:"sight,omitempty"`
	}
	reserveOut struct {
		Output int64 `json:"output,omitempty"` // tokens that an answer may have
		Wait   bool  `json:"wait,omitempty"`   // ask again
	}
)

// The requests of the process of an agent to the owner of its session.
var (
	upReport         = rpc.Method[nodeReport, nodeWelcome]{Name: "report"}
	upEvent          = rpc.Method[nodeEvent, rpc.None]{Name: "event"}
	upFind           = rpc.Method[nameIn, foundOut]{Name: "find"}
	upWake           = rpc.Method[wakeIn, rpc.None]{Name: "wake"}
	upLife           = rpc.Method[nameIn, lifeOut]{Name: "life"}
	upPlan           = rpc.Method[planIn, rpc.None]{Name: "plan"}
	upDismiss        = rpc.Method[dismissIn, endingOut]{Name: "dismiss"}
	upAnswerShutdown = rpc.Method[answerShutdownIn, rpc.None]{Name: "answer-shutdown"}
	upSession        = rpc.Method[sessionIn, foundOut]{Name: "abroad"}
	upNear           = rpc.Method[nearIn, nearOut]{Name: "near"}
	upOthers         = rpc.Method[launchIn, recordOut]{Name: "others"}
	upReserve        = rpc.Method[reserveIn, reserveOut]{Name: "reserve"}
)

// What the owner asks of the process of an agent. A launch there says nothing.
type (
	endIn struct {
		Name   string             `json:"name,omitempty"`
		Cause  string             `json:"cause,omitempty"`
		Launch uint32             `json:"launch"`
		Ending *protocol.Shutdown `json:"ending,omitempty"` // that the agent is ended by
	}
	answerIn struct {
		Name   string  `json:"name,omitempty"`
		Launch uint32  `json:"launch"`
		Answer *event.Answer `json:"answer,omitempty"`
	}

	endedOut struct {
		Ended []actors.Ended `json:"ended,omitempty"`
	}
	quietOut struct {
		Quiet bool   `json:"quiet,omitempty"`
		Moves uint64 `json:"moves,omitempty"`
	}
)

// The requests of the owner of a session to the process of an agent. Those that end in
// below are about agents that live in that process too.
var (
	doStop           = rpc.Method[endIn, lifeOut]{Name: "stop"}
	doKill           = rpc.Method[endIn, lifeOut]{Name: "kill"}
	doStopBelow      = rpc.Method[endIn, endedOut]{Name: "stop-below"}
	doKillBelow      = rpc.Method[endIn, endedOut]{Name: "kill-below"}
	doWakeBelow      = rpc.Method[wakeIn, rpc.None]{Name: "wake-below"}
	doInterruptBelow = rpc.Method[nameIn, rpc.None]{Name: "interrupt-below"}
	doBgBelow        = rpc.Method[nameIn, rpc.None]{Name: "bg-below"}
	doCompactBelow   = rpc.Method[nameIn, rpc.None]{Name: "compact-below"}
	doPlan           = rpc.Method[planIn, lifeOut]{Name: "plan"}
	doInterrupt      = rpc.Method[launchIn, rpc.None]{Name: "interrupt"}
	doCompact        = rpc.Method[launchIn, rpc.None]{Name: "compact"}
	doAnswer         = rpc.Method[answerIn, rpc.None]{Name: "answer"}
	doQuiet          = rpc.Method[launchIn, quietOut]{Name: "quiet"}
	doQuit           = rpc.Method[launchIn, rpc.None]{Name: "quit"}
)

// doQuery asks for a part of the record: archive.QueryNested, QueryInbox or QueryMail.
func doQuery(what string) rpc.Method[nameIn, recordOut] {
	return rpc.Method[nameIn, recordOut]{Name: what}
}

// workerErrors are the errors that are the same for the owner and the processes of
// agents.
func workerErrors() rpc.Errors {
	return rpc.Errors{
		rpc.Value("protocol.no_request", 1, protocol.ErrNoRequest), rpc.Value("protocol.wrong_id", 2, protocol.ErrWrongID),
		rpc.Value("protocol.late", 3, protocol.ErrLate), rpc.Value("protocol.not_refusable", 4, protocol.ErrNotRefusable),
		rpc.Value("protocol.unauthorized", 5, protocol.ErrUnauthorized), rpc.Value("protocol.not_planning", 6, protocol.ErrNotPlanning),
		rpc.Value("team.no_session", 7, team.ErrNoSession),
		rpc.Type[*event.SettledQuestionError]("settled"), rpc.Type[*budget.OverError]("over"), rpc.Type[*budget.UnpricedError]("unpriced"),
	}
}

// nodeEvent is what happened at a node.
type nodeEvent struct {
	Launch uint32      `json:"launch"`
	Event  event.Event `json:"event"`
}

// Requests to the owner go to ownerSubject, those to the process of an agent to
// workerSubject. The caller is the agent in both.
func ownerSubject(session string) rpc.Subject {
	return rpc.Subject("sw." + session + ".node.{caller}.up.{method}")
}

func workerSubject(session string) rpc.Subject {
	return rpc.Subject("sw." + session + ".node.{caller}.do.{method}")
}
