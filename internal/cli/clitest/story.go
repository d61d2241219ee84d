package clitest

import (
	"encoding/json"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// The agents of the story.
var (
	Lead     = event.Agent{ID: "lead", Name: "team-lead", Type: "lead"}
	Security = event.Agent{ID: "asecurity-1", Name: "security", Type: "reviewer", Color: "red", Parent: "lead", Call: "call_2"}
	Nameless = event.Agent{ID: "explore-01234567", Name: "explore-01234567", Type: "Explore", Parent: "lead", Call: "call_3"}
)

// Story is a run in which everything happens that can.
func Story() []event.Event {
	grep := Call("call_1", "Grep", `{"pattern":"TODO","path":"/repo/src"}`)
	spawn := Call("call_2", "Agent", `{"name":"security","subagent_type":"reviewer","description":"look"}`)
	read := Call("call_4", "Read", `{"file_path":"/repo/src/main.go"}`)
	send := Call("call_5", "SendMessage", `{"to":"team-lead","message":"two of them"}`)
	rm := Call("call_6", "Bash", `{"command":"rm -rf x\necho done"}`)
	mail := mailbox.Envelope{
		ID: "m1", From: mailbox.Address{Agent: "asecurity-1"}, To: mailbox.Address{Agent: "lead"}, Kind: mailbox.KindText,
		FromName: "security", ToName: "team-lead", Summary: "two open ends", Body: "two of them",
	}
	lost := mailbox.Envelope{
		ID: "m2", From: mailbox.Address{Agent: "lead"}, To: mailbox.Address{Agent: "explore-01234567"}, Kind: mailbox.KindText,
		FromName: "team-lead", ToName: "explore-01234567", Body: "are you there?",
	}
	usage := model.Usage{InputTokens: 4000, OutputTokens: 100}
	return Timed(
		Of(Lead, event.Requested{Step: 0}),
		Of(Lead, Answered("I will look.", usage, grep, spawn)),
		Of(Lead, event.CallStarted{Call: grep}),
		Of(Lead, event.CallStarted{Call: spawn}),
		Of(Security, event.Started{Model: "m", Prompt: "look at src\nand tell me", Background: true}),
		Of(Lead, event.CallFinished{Call: spawn, Text: "at work", Detail: json.RawMessage(`{"status":"teammate_spawned"}`)}),
		Of(Lead, event.CallFinished{Call: grep, Text: "src/a\nsrc/b", Took: 20 * time.Millisecond}),
		Of(Nameless, event.Started{Model: "m", Prompt: "explore"}),
		Of(Nameless, event.StateChanged{From: "starting", To: "queued"}),
		Of(Security, event.BackingOff{Backoff: model.Backoff{Attempt: 2, MaxAttempts: 10, Delay: 12 * time.Second, Status: 529, Reason: "the API is overloaded"}}),
		Of(Security, Answered("", usage, read, send, rm)),
		Of(Security, event.CallFinished{Call: read, Text: "1\tpackage main\x1b[31m", Took: 1500 * time.Millisecond}),
		Of(Security, event.Progress{LastTool: read.Name}),
		Of(Security, event.MailSent{Envelope: mail}),
		Of(Security, event.CallFinished{Call: send, Text: "queued for team-lead"}),
		Of(Security, event.Progress{LastTool: send.Name}),
		Of(Lead, event.MailArrived{Envelope: mail}),
		Of(Security, event.MailStateChanged{IDs: []mailbox.ID{"m1"}, State: mailbox.StateDelivered}),
		Of(Security, event.MailStateChanged{IDs: []mailbox.ID{"m1"}, State: mailbox.StateRead}),
		Of(Security, event.Denied{Call: rm, Rule: "Bash(rm:*)", Reason: "a rule denies it"}),
		Of(Security, event.CallFinished{Call: rm, Text: "permission denied: a rule denies it", IsError: true}),
		Of(Security, event.Progress{LastTool: rm.Name}),
		Of(Security, Answered("done with it", usage)),
		Of(Security, event.TurnEnded{Outcome: "completed", Text: "done with it", Steps: 2, Usage: usage, Took: 3 * time.Second}),
		Of(Lead, event.MailSent{Envelope: lost}),
		Of(Lead, event.MailStateChanged{IDs: []mailbox.ID{"m2"}, State: mailbox.StateDead}),
		Of(Nameless, event.TurnEnded{Outcome: "failed", Reason: "the model refused to answer", Steps: 1, Took: time.Second}),
		Of(Lead, event.Warning{Text: "the bus was away for a while"}),
		Of(Lead, event.Hint{Text: "teammates work in tmux panes"}),
		Of(Lead, event.Requested{Step: 1}),
		Of(Lead, event.Delta{Text: "All"}),
		Of(Lead, Answered("All is well.", usage)),
		Of(Lead, event.TurnEnded{Outcome: "completed", Text: "All is well.", Steps: 2, Usage: usage, Took: 5 * time.Second}),
	)
}

// Call returns a tool call.
func Call(id, name, input string) model.Call {
	return model.Call{ID: id, Name: name, Input: json.RawMessage(input)}
}

// Answered is the fact of an answer with a text and calls.
func Answered(text string, u model.Usage, calls ...model.Call) event.Answered {
	blocks, stop := []model.Block{model.Text(text)}, model.StopEndTurn
	for _, c := range calls {
		blocks, stop = append(blocks, model.ToolUse(c.ID, c.Name, c.Input)), model.StopToolUse
	}
	return event.Answered{Answer: &model.Answer{
		ID: "msg_1", Model: "claude-x", Message: model.AssistantMessage(blocks...), StopReason: stop, Usage: u,
	}}
}

// Of returns the event of a fact about an agent.
func Of(a event.Agent, f event.Fact) event.Event { return event.Event{Agent: a, Fact: f} }

// Timed numbers the events, a tenth of a second apart.
func Timed(all ...event.Event) []event.Event {
	for i := range all {
		all[i].Seq = uint64(i + 1)
		all[i].Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * 100 * time.Millisecond)
	}
	return all
}
