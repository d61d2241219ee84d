package workerapi

import (
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/protocol"
)

// Report is the state of a worker and its agent. Each report also shows that the worker
// is alive.
type Report struct {
	Launch    uint32           `json:"launch"`
	PID       int              `json:"pid"`
	Record    *agent.Record    `json:"life,omitempty"`
	State     state.State      `json:"state"`
	Running   bool             `json:"running,omitempty"`
	Unread    int              `json:"unread,omitempty"`
	Questions []event.Question `json:"questions,omitempty"`
	Known     int              `json:"known"`            // agents that the worker knows
	Charged   []string         `json:"landed,omitempty"` // reservations that Record includes
}

// ReportOut is the reply to a report.
type ReportOut struct {
	Refusal    string            `json:"leave,omitempty"` // why the worker must end
	Spec       *agent.Spec       `json:"spec,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Attended   bool              `json:"attended,omitempty"`
	AskTimeout time.Duration     `json:"ask_timeout,omitempty"`
	Granted    []string          `json:"granted,omitempty"`
	Held       settings.Held     `json:"held,omitzero"` // rules that were removed and are in force
	Members    []agent.Spec      `json:"members,omitempty"`
	Count      int               `json:"count"`             // agents of the session
	Bounded    bool              `json:"bounded,omitempty"` // requests are reserved with the owner
}

// The inputs and outputs of requests of a worker to the owner, in the name of its agent.
// Launch counts the starts of the process: requests of an older start are refused.
type (
	LaunchIn struct {
		Launch uint32 `json:"launch"`
	}
	NameIn struct { // of an agent
		Name   string `json:"name,omitempty"`
		Launch uint32 `json:"launch"`
	}
	WakeIn struct {
		Name   string          `json:"name,omitempty"`
		By     mailbox.AgentID `json:"by,omitempty"`
		Launch uint32          `json:"launch"`
		// Spec describes By if By lives in the process of another agent.
		Spec *agent.Spec `json:"spec,omitempty"`
	}
	PlanIn struct {
		Name   string                        `json:"name,omitempty"`
		By     mailbox.AgentID               `json:"by,omitempty"`
		Launch uint32                        `json:"launch"`
		Plan   *message.PlanApprovalResponse `json:"plan,omitempty"`
		Key    string                        `json:"key,omitempty"`
	}
	RequestShutdownIn struct {
		Name    string                  `json:"name,omitempty"`
		Launch  uint32                  `json:"launch"`
		Dismiss *actors.ShutdownOptions `json:"dismiss,omitempty"`
	}
	AnswerShutdownIn struct {
		Launch   uint32                    `json:"launch"`
		Shutdown *message.ShutdownResponse `json:"shutdown,omitempty"`
		Key      string                    `json:"key,omitempty"`
	}
	FindSessionIn struct { // another one, for a message
		Name   string        `json:"name,omitempty"`
		Launch uint32        `json:"launch"`
		Kind   mailbox.Kind  `json:"kind,omitempty"`
		Class  mailbox.Class `json:"class,omitempty"`
	}
	ListSessionsIn struct {
		Launch uint32 `json:"launch"`
		Max    int    `json:"most,omitempty"`
	}
	ReserveIn struct {
		Launch  uint32          `json:"launch"`
		Key     string          `json:"key,omitempty"`
		Request *budget.Request `json:"ask,omitempty"`
	}

	FoundOut struct {
		Found []agent.Spec `json:"found,omitempty"`
	}
	RecordOut struct {
		Record *agent.Record `json:"life,omitempty"`
	}
	ShutdownOut struct {
		Ending *protocol.Shutdown `json:"ending,omitempty"`
	}
	ListSessionsOut struct {
		Sessions []team.OtherSession `json:"near,omitempty"`
	}
	SnapshotOut struct {
		Snapshot *archive.Snapshot `json:"sight,omitempty"`
	}
	ReserveOut struct {
		Output int64 `json:"output,omitempty"` // tokens that an answer may have
		Wait   bool  `json:"wait,omitempty"`   // ask again
	}
)

// The requests of a worker to the owner of its session.
var (
	UpReport          = rpc.Method[Report, ReportOut]{Name: "report"}
	UpEvent           = rpc.Method[Event, rpc.None]{Name: "event"}
	UpFind            = rpc.Method[NameIn, FoundOut]{Name: "find"}
	UpWake            = rpc.Method[WakeIn, rpc.None]{Name: "wake"}
	UpRecord          = rpc.Method[NameIn, RecordOut]{Name: "life"}
	UpPlan            = rpc.Method[PlanIn, rpc.None]{Name: "plan"}
	UpRequestShutdown = rpc.Method[RequestShutdownIn, ShutdownOut]{Name: "dismiss"}
	UpAnswerShutdown  = rpc.Method[AnswerShutdownIn, rpc.None]{Name: "answer-shutdown"}
	UpFindSession     = rpc.Method[FindSessionIn, FoundOut]{Name: "abroad"}
	UpListSessions    = rpc.Method[ListSessionsIn, ListSessionsOut]{Name: "near"}
	UpListAgents      = rpc.Method[LaunchIn, SnapshotOut]{Name: "others"}
	UpReserve         = rpc.Method[ReserveIn, ReserveOut]{Name: "reserve"}
)

// The inputs and outputs of requests of the owner to a worker, which ignores Launch.
type (
	EndIn struct {
		Name   string             `json:"name,omitempty"`
		Cause  string             `json:"cause,omitempty"`
		Launch uint32             `json:"launch"`
		Ending *protocol.Shutdown `json:"ending,omitempty"` // that the agent is ended by
	}
	AnswerIn struct {
		Name   string        `json:"name,omitempty"`
		Launch uint32        `json:"launch"`
		Answer *event.Answer `json:"answer,omitempty"`
	}

	EndedOut struct {
		Ended []actors.Ended `json:"ended,omitempty"`
	}
	QuietOut struct {
		Quiet bool   `json:"quiet,omitempty"`
		Moves uint64 `json:"moves,omitempty"`
	}
)

// The requests of the owner of a session to a worker. Those that end in Nested are about
// other agents in the worker's process.
var (
	DoStop             = rpc.Method[EndIn, RecordOut]{Name: "stop"}
	DoKill             = rpc.Method[EndIn, RecordOut]{Name: "kill"}
	DoStopNested       = rpc.Method[EndIn, EndedOut]{Name: "stop-below"}
	DoKillNested       = rpc.Method[EndIn, EndedOut]{Name: "kill-below"}
	DoWakeNested       = rpc.Method[WakeIn, rpc.None]{Name: "wake-below"}
	DoInterruptNested  = rpc.Method[NameIn, rpc.None]{Name: "interrupt-below"}
	DoBackgroundNested = rpc.Method[NameIn, rpc.None]{Name: "bg-below"}
	DoCompactNested    = rpc.Method[NameIn, rpc.None]{Name: "compact-below"}
	DoPlan             = rpc.Method[PlanIn, RecordOut]{Name: "plan"}
	DoInterrupt        = rpc.Method[LaunchIn, rpc.None]{Name: "interrupt"}
	DoCompact          = rpc.Method[LaunchIn, rpc.None]{Name: "compact"}
	DoAnswer           = rpc.Method[AnswerIn, rpc.None]{Name: "answer"}
	DoQuiet            = rpc.Method[LaunchIn, QuietOut]{Name: "quiet"}
	DoQuit             = rpc.Method[LaunchIn, rpc.None]{Name: "quit"}
)

// DoQuery returns the method that reads a part of the record: archive.QueryNested,
// QueryInbox or QueryMail.
func DoQuery(what string) rpc.Method[NameIn, SnapshotOut] {
	return rpc.Method[NameIn, SnapshotOut]{Name: what}
}

// WorkerErrors returns the errors that keep their identity between owner and worker.
func WorkerErrors() rpc.Errors {
	return rpc.Errors{
		rpc.Value("protocol.no_request", 1, protocol.ErrNoRequest), rpc.Value("protocol.wrong_id", 2, protocol.ErrWrongID),
		rpc.Value("protocol.late", 3, protocol.ErrLate), rpc.Value("protocol.not_refusable", 4, protocol.ErrNotRefusable),
		rpc.Value("protocol.unauthorized", 5, protocol.ErrUnauthorized), rpc.Value("protocol.not_planning", 6, protocol.ErrNotPlanning),
		rpc.Value("team.no_session", 7, team.ErrNoSession),
		rpc.Type[*event.ResolvedQuestionError]("settled"), rpc.Type[*budget.ExceededError]("over"), rpc.Type[*budget.UnpricedError]("unpriced"),
	}
}

// Event is an event of a worker.
type Event struct {
	Launch uint32      `json:"launch"`
	Event  event.Event `json:"event"`
}

// OwnerSubject is the subject of requests to the owner. The caller in it is the
// worker's agent.
func OwnerSubject(session string) rpc.Subject {
	return rpc.Subject("sw." + session + ".node.{caller}.up.{method}")
}

// WorkerSubject is the subject of requests to a worker. The caller in it is the
// worker's agent.
func WorkerSubject(session string) rpc.Subject {
	return rpc.Subject("sw." + session + ".node.{caller}.do.{method}")
}
