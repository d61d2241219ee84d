package api

import (
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/teamfile"
)

// How long a request may take.
const (
	soon          = 2 * time.Second
	treeWithin    = 10 * time.Second // the end of an agent with all that work for it
	teamWithin    = time.Minute      // members come to life, or end, which each may take its time for
	compactWithin = 15 * time.Minute // the agent may be in a long call first
)

// The requests. What commands of agents may ask follows from the class.
var (
	Hello = rpc.Method[rpc.None, HelloOut]{Name: "hello", Class: rpc.Observe}
	// Tail publishes what happens for one more reader, until Untail.
	Tail   = rpc.Method[rpc.None, rpc.None]{Name: "tail"}
	Untail = rpc.Method[rpc.None, rpc.None]{Name: "untail"}
	Quit   = rpc.Method[rpc.None, rpc.None]{Name: "quit"}

	ListAgents    = rpc.Method[rpc.None, AgentsOut]{Name: "ps", Class: rpc.Observe}
	FindAgent     = rpc.Method[NameIn, AgentsOut]{Name: "agent"} // commands have ListAgents
	Stop          = rpc.Method[NameIn, rpc.None]{Name: "stop", Within: soon}
	Kill          = rpc.Method[NameIn, rpc.None]{Name: "kill", Within: soon}
	StopTree      = rpc.Method[NameIn, EndedOut]{Name: "stoptree", Within: treeWithin}
	KillTree      = rpc.Method[NameIn, EndedOut]{Name: "killtree", Within: treeWithin}
	Down          = rpc.Method[DownIn, DownOut]{Name: "down"}
	Background    = rpc.Method[NameIn, rpc.None]{Name: "bg"}
	BackgroundAll = rpc.Method[rpc.None, MovedOut]{Name: "bgall"}
	Interrupt     = rpc.Method[NameIn, CutOut]{Name: "interrupt"}
	Compact       = rpc.Method[NameIn, rpc.None]{Name: "compact", Within: compactWithin}
	SetModel      = rpc.Method[NameIn, rpc.None]{Name: "model"}

	Send          = rpc.Method[SendIn, PostedOut]{Name: "send"}
	Say           = rpc.Method[SayIn, rpc.None]{Name: "say"}
	ReadInbox     = rpc.Method[NameIn, TracesOut]{Name: "mailbox"}
	FindMessage   = rpc.Method[NameIn, TracesOut]{Name: "message"}
	ListQuestions = rpc.Method[rpc.None, QuestionsOut]{Name: "questions"}
	Answer        = rpc.Method[AnswerIn, rpc.None]{Name: "answer"}
	// Post brings a message of another session of the user.
	Post = rpc.Method[PostIn, PostOut]{Name: "letter"}

	SetBridge      = rpc.Method[BridgeIn, rpc.None]{Name: "bridge"}
	WithdrawBridge = rpc.Method[BridgeIn, rpc.None]{Name: "bridge-withdraw"}
	DescribeBus    = rpc.Method[rpc.None, BusOut]{Name: "bus", Class: rpc.Observe}
	AddBusUser     = rpc.Method[NameIn, CredentialsOut]{Name: "bus-add"}
	RemoveBusUser  = rpc.Method[NameIn, rpc.None]{Name: "bus-remove"}

	ListTasks  = rpc.Method[rpc.None, TasksOut]{Name: "tasks", Within: soon, Class: rpc.Observe}
	ListTeams  = rpc.Method[rpc.None, TeamsOut]{Name: "teams", Within: teamWithin, Class: rpc.Observe}
	FindTeam   = rpc.Method[NameIn, TeamOut]{Name: "team", Within: teamWithin, Class: rpc.Observe}
	TeamUp     = rpc.Method[TeamUpIn, TeamOut]{Name: "team-up", Within: teamWithin}
	TeamAdd    = rpc.Method[TeamAddIn, TeamOut]{Name: "team-add", Within: teamWithin}
	TeamRemove = rpc.Method[TeamRemoveIn, rpc.None]{Name: "team-remove", Within: teamWithin}
	TeamDown   = rpc.Method[NameIn, rpc.None]{Name: "team-down", Within: teamWithin}
)

// What requests take.
type (
	NameIn struct { // of an agent, or what else has a name: a message, a team, a user of the bus
		Name string `json:"name,omitempty"`
	}
	DownIn struct {
		Names []string      `json:"names,omitempty"`
		Grace time.Duration `json:"grace,omitempty"`
	}
	SendIn struct {
		To    string        `json:"to,omitempty"`
		Text  string        `json:"text,omitempty"`
		Class mailbox.Class `json:"class,omitempty"`
	}
	SayIn struct {
		Text string `json:"text,omitempty"`
	}
	PostIn struct {
		Message *peer.Message `json:"letter,omitempty"`
	}
	AnswerIn struct {
		Name   string        `json:"name,omitempty"` // id of the question
		Answer *event.Answer `json:"answer,omitempty"`
	}
	BridgeIn struct {
		Name  string `json:"name,omitempty"` // the session
		Allow bool   `json:"allow,omitempty"`
	}
	TeamUpIn struct {
		Team *teamfile.Team `json:"team,omitempty"`
	}
	TeamAddIn struct {
		Name   string           `json:"name,omitempty"`
		Member *teamfile.Member `json:"member,omitempty"`
	}
	TeamRemoveIn struct {
		Member string `json:"to,omitempty"`
		Name   string `json:"name,omitempty"`
	}
)

// What they answer.
type (
	HelloOut struct {
		Welcome *session.Welcome `json:"welcome,omitempty"`
	}
	AgentsOut struct {
		Agents []actors.Status `json:"agents,omitempty"`
		Info   *session.Info   `json:"info,omitempty"`
	}
	EndedOut struct {
		Ended []actors.Ended `json:"ended,omitempty"`
	}
	DownOut struct {
		Gone []actors.ShutdownResult `json:"gone,omitempty"`
	}
	MovedOut struct {
		Moved []string `json:"moved,omitempty"`
	}
	CutOut struct {
		Cut bool `json:"cut,omitempty"`
	}
	PostedOut struct {
		Posted []member.SendResult `json:"posted,omitempty"`
	}
	TracesOut struct {
		Traces []mailbox.Trace `json:"traces,omitempty"`
	}
	PostOut struct {
		Reply *peer.Reply `json:"letter,omitempty"`
	}
	QuestionsOut struct {
		Questions []event.Question `json:"questions,omitempty"`
	}
	BusOut struct {
		Bus *session.BusState `json:"bus,omitempty"`
	}
	CredentialsOut struct {
		Credentials *session.BusCredentials `json:"credentials,omitempty"`
	}
	TasksOut struct {
		Tasks []board.Task `json:"tasks,omitempty"`
	}
	TeamsOut struct {
		Teams []team.Team `json:"teams,omitempty"`
	}
	TeamOut struct {
		Team *team.Status `json:"team,omitempty"`
	}
)

// Errors are the errors that are the same on both sides.
func Errors() rpc.Errors {
	return append(member.Errors(), rpc.Value("unattended", 0, actors.ErrUnattended), rpc.Value("team.no_session", 0, team.ErrNoSession))
}

// Subject is where a session is asked.
func Subject(id string) rpc.Subject { return rpc.Subject("sw." + id + ".api.{method}") }

// EventSubject is where a session publishes what happens.
func EventSubject(id string) string { return "sw." + id + ".ev" }
