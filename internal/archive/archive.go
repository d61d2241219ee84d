package archive

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/status"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// ErrNoOutbox is the error of a message from the user to a session whose lead has never
// begun.
var ErrNoOutbox = errors.New("the session has no outbox for the user yet; give it a prompt first: swarm resume ID PROMPT")

// Options configure how a session is opened. The zero value is usable.
type Options struct {
	// Prices returns what models cost; nil knows no prices.
	Prices func() (*price.Table, error)
	// Receipt is called with the receipts of mail when agents are ended here; may be nil.
	Receipt func(mailbox.Receipt)
}

// Session is a session that no process runs: no agent works and no message travels. Its
// journal is opened when it is first needed, and from then on no process can run the
// session until Close. The error of each method wraps journal.ErrLocked if a process has
// the session open. Methods may be called from any goroutine.
type Session struct {
	info session.Info
	o    Options

	mu    sync.Mutex
	rec   *record // guarded by mu; nil until it is needed
	write bool    // rec can be written; guarded by mu
}

// New returns the session that info describes.
func New(info session.Info, o Options) *Session { return &Session{info: info, o: o} }

// record is an open Record.
type record struct {
	Record
	bus event.Bus
}

// OpenHost opens the record of an agent whose own process does not run. Its journal can
// be written; OpenHost waits for other processes that read it. Call close at the end.
func OpenHost(ctx context.Context, info session.Info, host mailbox.AgentID, o Options) (r Record, close func() error, err error) {
	var rec *record
	err = OpenWhenUnlocked(ctx, func() (err error) {
		rec, err = openRecord(ctx, info, Dir(info.Path, host), true, o)
		return err
	})
	if err != nil {
		return Record{}, nil, err
	}
	return rec.Record, rec.close, nil
}

// openRecord opens one of the journals of a session, in dir.
func openRecord(ctx context.Context, info session.Info, dir string, write bool, o Options) (*record, error) {
	var prices *price.Table
	if o.Prices != nil {
		var err error
		if prices, err = o.Prices(); err != nil {
			return nil, err
		}
	}
	store, err := transcript.Open(ctx, dir, info.ID, transcript.Options{ReadOnly: !write})
	if err != nil {
		return nil, err
	}
	r := &record{Record: Record{Store: store}}
	r.Agents = coordinator.New(coordinator.Options{
		Store: store, Policy: spawn.Policy{Team: team.Own(info.ID)}, Events: &r.bus, Prices: prices, Receipt: o.Receipt,
		Logger: slog.New(slog.DiscardHandler),
	})
	return r, nil
}

func (r *record) close() error {
	r.bus.Close()
	return r.Store.Close()
}

// QueryFiles returns a Query that reads the journals of agents whose processes do not
// run. An agent without a journal has an empty Snapshot.
func QueryFiles(ctx context.Context, info session.Info, o Options) Query {
	o.Receipt = nil
	return func(host mailbox.AgentID, what, name string) (out Snapshot, err error) {
		dir := Dir(info.Path, host)
		if !HasJournal(dir) {
			return out, nil
		}
		r, err := openRecord(ctx, info, dir, false, o)
		if err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		return r.Query(host, what, name)
	}
}

// HasJournal reports whether a process that works in dir has ever begun.
func HasJournal(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "journal"))
	return err == nil && info.IsDir()
}

// open opens the journal. mu is held.
func (s *Session) open(ctx context.Context, write bool) error {
	if s.rec != nil && (s.write || !write) {
		return nil
	}
	if err := s.closeRecord(); err != nil {
		return err
	}
	rec, err := openRecord(ctx, s.info, s.info.Path, write, s.o)
	if err != nil {
		return err
	}
	s.rec, s.write = rec, write
	return nil
}

func (s *Session) closeRecord() error {
	if s.rec == nil {
		return nil
	}
	rec := s.rec
	s.rec, s.write = nil, false
	return rec.close()
}

// tree returns the agents of the session, for as long as ctx lasts. mu is held.
func (s *Session) tree(ctx context.Context) (Tree, error) {
	if err := s.open(ctx, false); err != nil {
		return Tree{}, err
	}
	return Tree{s.rec.Record, QueryFiles(ctx, s.info, s.o)}, nil
}

// Info returns what is known of the session without opening it.
func (s *Session) Info() session.Info { return s.info }

// Notes returns what is damaged in the files of the session, one sentence each.
func (s *Session) Notes(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(ctx, false); err != nil {
		return nil, err
	}
	return s.rec.Store.Notes(), nil
}

// Coordinator returns the coordinator of the session's agents, none of which works, to
// change which programs are members. The journal can be written.
func (s *Session) Coordinator(ctx context.Context) (*coordinator.Coordinator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(ctx, true); err != nil {
		return nil, err
	}
	return s.rec.Agents, nil
}

// Agents returns the agents of the session, oldest first. Messages that are still on
// their way count as unread.
func (s *Session) Agents(ctx context.Context) ([]actors.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tree(ctx)
	if err != nil {
		return nil, err
	}
	coming := map[mailbox.AgentID]int{}
	for _, e := range t.Store.Pending() {
		coming[e.To.Agent]++
	}
	all := t.Agents.Status()
	for i := range all {
		all[i].Unread += coming[all[i].Record.Spec.ID]
	}
	return status.Complete(append(all, t.Nested()...)), nil
}

// Agent returns one agent, by name, team/name or id.
func (s *Session) Agent(ctx context.Context, name string) (actors.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tree(ctx)
	if err != nil {
		return actors.Status{}, err
	}
	own, err := roster.New(t.Agents).Find(name)
	if err == nil {
		return StatusOf(t.Agents.Status(), own.ID())
	}
	a, _, err := t.Find(name, err)
	return a, err
}

// Inbox returns the unread messages of an agent, by name or id, and the last that it
// has read, oldest first. Of long bodies it holds the beginning.
func (s *Session) Inbox(ctx context.Context, name string) ([]mailbox.Trace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tree(ctx)
	if err != nil {
		return nil, err
	}
	return t.Inbox(name)
}

// Message returns a message and all that became of it. The error is an
// *mailbox.UnknownMessageError if there is none.
func (s *Session) Message(ctx context.Context, id mailbox.ID) (mailbox.Trace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tree(ctx)
	if err != nil {
		return mailbox.Trace{}, err
	}
	return t.Message(id)
}

// Tasks returns the tasks of the session's list as they were when it last ran. It
// needs no journal, so it answers also while a process has the session open.
func (s *Session) Tasks(context.Context) ([]board.Task, error) { return ReadTasks(s.info, "") }

// Teams returns the teams of the session, its own first.
func (s *Session) Teams(ctx context.Context) ([]team.Team, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tree(ctx)
	if err != nil {
		return nil, err
	}
	return roster.New(t.Agents).Teams(), nil
}

// Team returns how a team is, by name or id, with its tasks as they were when the
// session last ran; "" is the session's own.
func (s *Session) Team(ctx context.Context, name string) (team.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tree(ctx)
	if err != nil {
		return team.Status{}, err
	}
	of, err := roster.New(t.Agents).Team(name)
	if err != nil {
		return team.Status{}, err
	}
	status := team.StatusOf(of, t.Agents.Status())
	list := ""
	if of.ID != team.Own(s.info.ID) {
		list = of.ID
	}
	status.Tasks, err = ReadTasks(s.info, list)
	return status, err
}

// Send writes a message from the user to an agent, or with "*" to all. It returns when
// the message is on disk; the agent reads it when the session continues.
func (s *Session) Send(ctx context.Context, to, text string) ([]team.SendResult, error) {
	return s.SendClass(ctx, to, text, "")
}

// SendClass is Send for a message of a class; "" is the usual one.
func (s *Session) SendClass(ctx context.Context, to, text string, c mailbox.Class) ([]team.SendResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(ctx, true); err != nil {
		return nil, err
	}
	t, err := s.tree(ctx)
	if err != nil {
		return nil, err
	}
	user, ok := t.Store.Get(agent.UserID)
	if !ok {
		return nil, ErrNoOutbox
	}
	r := roster.New(t.Agents)
	r.ConnectRemote(atRest{t})
	return r.Send(user, team.Message{To: to, Text: text, Class: c})
}

// Close closes the journal, so that processes can run the session. It may be called more
// than once.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeRecord()
}

// atRest is the nested agents of a session that does not run, as those of its record
// reach them.
type atRest struct{ Tree }

// Find implements roster.RemoteDirectory.
func (a atRest) Find(name string, unknown error) (agent.Record, error) {
	s, _, err := a.Tree.Find(name, unknown)
	return s.Record, err
}

// All implements roster.RemoteDirectory.
func (a atRest) All() ([]actors.Status, error) { return NotKilled(a.Nested()), nil }

// Wake implements roster.RemoteDirectory. An agent with a process of its own continues
// when the session does, unless it has ended.
func (a atRest) Wake(to agent.Record, _ mailbox.AgentID) error {
	_, host, err := a.Tree.Find(string(to.Spec.ID), &agent.UnknownError{Name: string(to.Spec.ID)})
	if err != nil {
		return err
	}
	if t, ok := a.Store.Get(host); !ok || t.Record().Closed || to.Closed {
		return &agent.NoProcessError{Name: agent.DisplayName(to.Spec), Host: a.DisplayName(host)}
	}
	return nil
}
