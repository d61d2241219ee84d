package roster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/tool"
)

// taskTool is one of the tools of the shared task list (agent-system spec §13.3).
type taskTool struct {
	desk *taskTools
	spec tool.Spec
	run  func(context.Context, tool.Call) (tool.Result, error)
}

func (t *taskTool) Spec() tool.Spec { return t.spec }

func (t *taskTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	r, err := t.run(ctx, c)
	if err != nil && ctx.Err() == nil {
		return tool.Errorf("%v", err), nil // an error of the board, on which the model can act
	}
	return r, err
}

// taskTools is shared by the four tools of one agent.
type taskTools struct {
	roster *Roster
	boards *Boards
	list   func(team string) string
	self   coordinator.Agent
}

// TaskTools returns the tools with which one agent works on the list of its first team, or
// on that of another of its teams if a call names it. list returns the name of the list of
// a team.
func (r *Roster) TaskTools(self coordinator.Agent, boards *Boards, list func(team string) string) []tool.Tool {
	d := &taskTools{roster: r, boards: boards, list: list, self: self}
	return []tool.Tool{
		&taskTool{d, taskSpec("TaskCreate", "Puts a task on the list that the whole team shares. Say what is to be done so that another agent can do it alone.", createSchema, false), d.create},
		&taskTool{d, taskSpec("TaskGet", "Shows one task of the shared list with all that is written about it.", getSchema, true), d.get},
		&taskTool{d, taskSpec("TaskList", "Shows the shared list: each task, who works on it, what it waits for.", showSchema, true), d.show},
		&taskTool{d, taskSpec("TaskUpdate", "Changes a task: takes it (status in_progress), completes it, gives it to somebody (owner), makes it wait for others. Only who has taken a task can complete it.", updateSchema, false), d.update},
	}
}

// MoveTask changes the status of a task of the session's list in the name of an agent, with
// the effects of its tool TaskUpdate.
func (r *Roster) MoveTask(ctx context.Context, self coordinator.Agent, boards *Boards, list func(team string) string, id board.ID, to board.Status) (board.Task, error) {
	d := &taskTools{roster: r, boards: boards, list: list, self: self}
	b, me, err := d.board(ctx, "")
	if err != nil {
		return board.Task{}, err
	}
	if _, err := b.Get(id); err != nil {
		return board.Task{}, err
	}
	if _, err := d.move(ctx, b, me, updateInput{TaskID: id, Status: to}); err != nil {
		return board.Task{}, err
	}
	return b.Get(id)
}

func taskSpec(name, description, schema string, reads bool) tool.Spec {
	return tool.Spec{Name: name, Description: description, Schema: json.RawMessage(schema), ReadOnly: reads, Parallel: reads}
}

const (
	teamSchema   = `"team":{"type":"string","description":"Another of your teams, whose list is meant"}`
	createSchema = `{"type":"object","properties":{` + teamSchema + `,` +
		`"subject":{"type":"string","description":"What is to be done, in a few words"},` +
		`"description":{"type":"string","description":"Everything that somebody needs to know who was not here"},` +
		`"activeForm":{"type":"string","description":"The subject as something under way, such as: fixing the parser"},` +
		`"writes":{"type":"boolean","description":"The task changes files: an agent without writing tools cannot take it"},` +
		`"blockedBy":{"type":"array","items":{"type":"string"},"description":"Ids of tasks that must be done first"},` +
		`"metadata":{"type":"object"}},"required":["subject"]}`
	getSchema    = `{"type":"object","properties":{"taskId":{"type":"string"},` + teamSchema + `},"required":["taskId"]}`
	showSchema   = `{"type":"object","properties":{` + teamSchema + `}}`
	updateSchema = `{"type":"object","properties":{"taskId":{"type":"string"},` + teamSchema + `,` +
		`"status":{"type":"string","enum":["pending","in_progress","completed","deleted"],"description":"in_progress takes the task, pending gives it back"},` +
		`"owner":{"type":"string","description":"Name of the agent that is to do it; it is told"},` +
		`"subject":{"type":"string"},"description":{"type":"string"},"activeForm":{"type":"string"},` +
		`"addBlockedBy":{"type":"array","items":{"type":"string"},"description":"Tasks that must be done before this one"},` +
		`"addBlocks":{"type":"array","items":{"type":"string"},"description":"Tasks that must wait for this one"},` +
		`"metadata":{"type":"object","description":"Merged into what is there; null takes a key away"}},"required":["taskId"]}`
)

// board returns the list of a team of the agent; the empty name is that of its first team.
func (d *taskTools) board(ctx context.Context, team string) (*board.Board, board.Member, error) {
	me := BoardMember(d.self.Transcript.Record())
	if team == "" {
		b, err := d.boards.Get(ctx, d.list(d.roster.agents.Home(d.self.Transcript.Spec()).Team))
		return b, me, err
	}
	mine := d.roster.Of(d.self.Transcript.Spec())
	at := slices.IndexFunc(mine, func(m agent.Membership) bool { return m.Is(team) })
	if at < 0 {
		return nil, me, errNotYours(team, mine)
	}
	b, err := d.boards.Get(ctx, d.list(mine[at].Team))
	return b, me, err
}

type createInput struct {
	Team        string         `json:"team"`
	Subject     string         `json:"subject"`
	Description string         `json:"description"`
	ActiveForm  string         `json:"activeForm"`
	Writes      bool           `json:"writes"`
	BlockedBy   []board.ID     `json:"blockedBy"`
	Metadata    map[string]any `json:"metadata"`
}

func (d *taskTools) create(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in createInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	b, me, err := d.board(ctx, in.Team)
	if err != nil {
		return tool.Result{}, err
	}
	t, err := b.Create(ctx, me, board.New{
		Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Writes: in.Writes,
		BlockedBy: in.BlockedBy, Metadata: in.Metadata,
	})
	if err == nil {
		err = d.created(ctx, b, me, t)
	}
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{
		Text:   fmt.Sprintf("Task %s is on the list: %s", t.ID, t.Subject),
		Detail: detail(map[string]any{"task": map[string]any{"id": t.ID, "subject": t.Subject}}),
	}, nil
}

type getInput struct {
	TaskID board.ID `json:"taskId"`
	Team   string   `json:"team"`
}

func (d *taskTools) get(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in getInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	b, _, err := d.board(ctx, in.Team)
	if err != nil {
		return tool.Result{}, err
	}
	t, err := b.Get(in.TaskID)
	if err != nil {
		return tool.Result{}, err
	}
	text := TaskLine(t)
	if t.Description != "" {
		text += "\n" + t.Description
	}
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		text += fmt.Sprintf("\n%s: %v", key, t.Metadata[key])
	}
	return tool.Result{Text: text, Detail: detail(map[string]any{"task": t})}, nil
}

type listInput struct {
	Team string `json:"team"`
}

func (d *taskTools) show(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in listInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	b, _, err := d.board(ctx, in.Team)
	if err != nil {
		return tool.Result{}, err
	}
	all := b.List()
	if len(all) == 0 {
		return tool.Result{Text: "The list is empty.", Detail: detail(map[string]any{"tasks": []board.Task{}})}, nil
	}
	lines := make([]string, len(all))
	for i, t := range all {
		lines[i] = TaskLine(t)
	}
	return tool.Result{Text: strings.Join(lines, "\n"), Detail: detail(map[string]any{"tasks": all})}, nil
}

// TaskLine returns a task as one line, for models and people.
func TaskLine(t board.Task) string {
	line := fmt.Sprintf("%s. [%s] %s", t.ID, strings.ReplaceAll(string(t.Status), "_", " "), t.Subject)
	if t.Owner != "" {
		line += " (" + t.Owner + ")"
	}
	if t.Writes {
		line += ", changes files"
	}
	for i, id := range t.BlockedBy {
		if i == 0 {
			line += ", waits for"
		}
		line += " " + string(id)
	}
	return line
}

type updateInput struct {
	TaskID       board.ID       `json:"taskId"`
	Team         string         `json:"team"`
	Status       board.Status   `json:"status"`
	Owner        *string        `json:"owner"`
	Subject      *string        `json:"subject"`
	Description  *string        `json:"description"`
	ActiveForm   *string        `json:"activeForm"`
	AddBlocks    []board.ID     `json:"addBlocks"`
	AddBlockedBy []board.ID     `json:"addBlockedBy"`
	Metadata     map[string]any `json:"metadata"`
}

// update changes the fields in an order in which none prevents another: texts,
// dependencies, owner, status.
func (d *taskTools) update(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in updateInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	b, me, err := d.board(ctx, in.Team)
	if err != nil {
		return tool.Result{}, err
	}
	before, err := b.Get(in.TaskID)
	if err != nil {
		return tool.Result{}, err
	}
	var changed []string
	for _, step := range []func(context.Context, *board.Board, board.Member, updateInput) ([]string, error){
		d.edit, d.wait, d.own, d.move,
	} {
		fields, err := step(ctx, b, me, in)
		changed = append(changed, fields...)
		if err != nil {
			return d.failed(in.TaskID, changed, err), nil
		}
	}
	if len(changed) == 0 {
		return tool.Errorf("nothing was changed in task %s: name what is to be changed", in.TaskID), nil
	}
	result := map[string]any{"success": true, "taskId": in.TaskID, "updatedFields": changed}
	if in.Status != "" && in.Status != before.Status {
		result["statusChange"] = map[string]any{"from": before.Status, "to": in.Status}
	}
	text := fmt.Sprintf("Task %s is changed: %s.", in.TaskID, strings.Join(changed, ", "))
	return tool.Result{Text: text, Detail: detail(result)}, nil
}

func (d *taskTools) failed(id board.ID, changed []string, err error) tool.Result {
	text := err.Error()
	if len(changed) > 0 {
		text += fmt.Sprintf(" (changed before that: %s)", strings.Join(changed, ", "))
	}
	r := tool.Errorf("%s", text)
	r.Detail = detail(map[string]any{"success": false, "taskId": id, "updatedFields": changed, "error": err.Error()})
	return r
}

func (d *taskTools) edit(ctx context.Context, b *board.Board, _ board.Member, in updateInput) ([]string, error) {
	var changed []string
	set := func(name string, from *string, into *string) {
		if from != nil {
			*into = *from
			changed = append(changed, name)
		}
	}
	if in.Subject == nil && in.Description == nil && in.ActiveForm == nil && in.Metadata == nil {
		return nil, nil
	}
	_, err := b.Change(ctx, in.TaskID, func(t *board.Task) error {
		changed = nil // the board may call this function again
		set("subject", in.Subject, &t.Subject)
		set("description", in.Description, &t.Description)
		set("activeForm", in.ActiveForm, &t.ActiveForm)
		if in.Metadata != nil {
			changed = append(changed, "metadata")
		}
		for key, value := range in.Metadata {
			if t.Metadata == nil {
				t.Metadata = map[string]any{}
			}
			if t.Metadata[key] = value; value == nil {
				delete(t.Metadata, key)
			}
		}
		if strings.TrimSpace(t.Subject) == "" {
			return errors.New("the subject of a task cannot be empty")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

func (d *taskTools) wait(ctx context.Context, b *board.Board, _ board.Member, in updateInput) (changed []string, err error) {
	if len(in.AddBlockedBy) > 0 {
		if err := b.Wait(ctx, in.TaskID, in.AddBlockedBy); err != nil {
			return changed, err
		}
		changed = append(changed, "blockedBy")
	}
	for i, id := range in.AddBlocks {
		if err := b.Wait(ctx, id, []board.ID{in.TaskID}); err != nil {
			return changed, err
		}
		if i == 0 {
			changed = append(changed, "blocks")
		}
	}
	return changed, nil
}

// own gives the task to an agent: to the calling one by a claim, to another by a message.
func (d *taskTools) own(ctx context.Context, b *board.Board, me board.Member, in updateInput) ([]string, error) {
	if in.Owner == nil {
		return nil, nil
	}
	if *in.Owner == "" {
		_, err := b.Drop(ctx, me, in.TaskID)
		return []string{"owner"}, err
	}
	to, err := d.roster.Reach(d.self.Transcript.Spec(), *in.Owner)
	if err != nil {
		return nil, err
	}
	if to.ID() == d.self.Spec.ID {
		_, err := b.Claim(ctx, me, in.TaskID)
		return []string{"owner"}, err
	}
	t, err := b.Assign(ctx, me, BoardMember(to.Record()), in.TaskID)
	if err != nil {
		return nil, err
	}
	return []string{"owner"}, d.notifyOwner(t, me)
}

func (d *taskTools) notifyOwner(t board.Task, by board.Member) error {
	return d.notify(t, t.Owner, message.TaskAssigned{TaskID: string(t.ID), Subject: t.Subject, Description: t.Description, By: by.Name})
}

// notify sends a message about a task in the agent's name.
func (d *taskTools) notify(about board.Task, to string, m message.Message) error {
	body, err := message.Encode(m)
	if err != nil {
		return err
	}
	summary := mailbox.FirstLine(fmt.Sprintf("%s %s: %s", strings.ReplaceAll(string(m.Kind()), "_", " "), about.ID, about.Subject), summaryLength)
	_, err = d.roster.Send(d.self.Transcript, team.Message{To: to, Text: body, Kind: m.Kind(), Summary: summary})
	return err
}

func (d *taskTools) move(ctx context.Context, b *board.Board, me board.Member, in updateInput) ([]string, error) {
	changed := []string{"status"}
	switch in.Status {
	case "":
		return nil, nil
	case board.InProgress:
		if in.Owner != nil && !strings.EqualFold(*in.Owner, me.Name) {
			return nil, nil // its owner claims it
		}
		_, err := b.Claim(ctx, me, in.TaskID)
		return changed, err
	case board.Pending:
		_, err := b.Drop(ctx, me, in.TaskID)
		return changed, err
	case board.Deleted:
		return changed, b.Delete(ctx, me, in.TaskID)
	case board.Completed:
		if err := d.completing(ctx, b, me, in.TaskID); err != nil {
			return nil, err
		}
		t, err := b.Finish(ctx, me, in.TaskID)
		if err != nil {
			return nil, err
		}
		return changed, d.notifyUnblocked(b, t, me)
	}
	return nil, fmt.Errorf("there is no status %q; there are pending, in_progress, completed and deleted", in.Status)
}

// notifyUnblocked wakes the owners of tasks that have become free because one is done. A
// task without an owner is shown on the list.
func (d *taskTools) notifyUnblocked(b *board.Board, done board.Task, me board.Member) error {
	freed := map[string][]string{}
	for _, id := range done.Blocks {
		if t, err := b.Get(id); err == nil && t.Owner != "" && t.Owner != me.Name && len(t.BlockedBy) == 0 {
			freed[t.Owner] = append(freed[t.Owner], string(id))
		}
	}
	var errs []error
	for owner, ids := range freed {
		errs = append(errs, d.notify(done, owner, message.TaskCompleted{TaskID: string(done.ID), Subject: done.Subject, By: me.Name, Freed: ids}))
	}
	return errors.Join(errs...)
}

// detail encodes plain data.
func detail(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
