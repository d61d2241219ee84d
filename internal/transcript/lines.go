package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

// lines is the JSON lines file of one agent, for people, hooks and tools such as grep. It
// follows the journal: after a restart the first write builds the file from the records
// again, which repairs lines that are missing or there twice.
type lines struct {
	file  *os.File // open only while a turn is
	birth []byte   // the first line, held back until there is a second: an agent that only waits needs no file
	fresh bool     // the agent was born in this process: the file is whole
	off   bool     // writing failed once; the journal continues without the file
}

// line is one line of the file. Seq is the record's place in the journal.
type line struct {
	Type    string            `json:"type"` // user, assistant, system, mail
	Subtype string            `json:"subtype,omitempty"`
	Seq     uint64            `json:"seq"`
	Session string            `json:"sessionId"`
	Agent   string            `json:"agentId"`
	Name    string            `json:"agentName,omitempty"`
	Time    time.Time         `json:"timestamp"`
	Meta    any               `json:"meta,omitempty"`
	Mail    *mailbox.Envelope `json:"envelope,omitempty"`
	Message json.RawMessage   `json:"-"` // appended as it is, so that its bytes are kept
}

func (s *Store) linesPath(key string) string { return filepath.Join(s.dir, key+".jsonl") }

// TranscriptPath returns the path of an agent's JSON lines file.
func (s *Store) TranscriptPath(id mailbox.AgentID) string { return s.linesPath(string(id)) }

// write appends the line of a record. mu of the transcript is held. After a failure the
// file is not written again in this process; the agent continues.
func (l *lines) write(t *Transcript, seq uint64, kind byte, meta any, raw []byte) {
	l.put(t, lineOf(seq, kind, meta, raw))
}

func (l *lines) writeMail(t *Transcript, seq uint64, subtype string, e mailbox.Envelope) {
	l.put(t, &line{Type: "mail", Subtype: subtype, Seq: seq, Time: e.Sent, Mail: &e})
}

func (l *lines) put(t *Transcript, n *line) {
	if n == nil || l.off || t.store.opts.NoLines {
		return
	}
	if !l.fresh {
		// Rebuilding includes this record: it is in the journal already.
		l.off = l.rebuild(t) != nil
		return
	}
	if n.Subtype == "born" {
		l.birth = n.encode(t)
		return
	}
	l.off = l.append(t, n) != nil
	if !t.state.TurnOpen {
		l.close()
	}
}

func (l *lines) append(t *Transcript, n *line) error {
	if l.file == nil {
		f, err := os.OpenFile(t.store.linesPath(t.key), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		l.file = f
	}
	_, err := l.file.Write(append(l.birth, n.encode(t)...))
	l.birth = nil
	return err
}

func (l *lines) close() {
	if l.file != nil {
		if err := l.file.Close(); err != nil {
			l.off = true
		}
		l.file = nil
	}
}

// rebuild writes the whole file from the journal and puts it in place at once.
func (l *lines) rebuild(t *Transcript) error {
	if err := t.store.journal.Sync(); err != nil {
		return err
	}
	var all bytes.Buffer
	for rec, err := range t.store.journal.History(t.key) {
		if err != nil {
			return err
		}
		if n := lineOfRecord(rec.Seq, rec.Kind, rec.Data); n != nil {
			all.Write(n.encode(t))
		}
	}
	path := t.store.linesPath(t.key)
	if err := os.WriteFile(path+".new", all.Bytes(), 0o600); err != nil {
		return err
	}
	l.fresh = true
	return os.Rename(path+".new", path)
}

func lineOfRecord(seq uint64, kind byte, data []byte) *line {
	switch kind {
	case kindSent:
		if e, err := mailbox.DecodeBinary(data); err == nil {
			return &line{Type: "mail", Subtype: "sent", Seq: seq, Time: e.Sent, Mail: &e}
		}
	case kindArrived:
		if e, _, err := decodeArrival(data); err == nil {
			return &line{Type: "mail", Subtype: "arrived", Seq: seq, Time: e.Sent, Mail: &e}
		}
	default:
		if meta := metaOf(kind); meta != nil {
			if raw, err := decode(data, meta); err == nil {
				return lineOf(seq, kind, meta, raw)
			}
		}
	}
	return nil
}

// lineOf returns the line of a record, or nil if the record is of no use to people.
func lineOf(seq uint64, kind byte, meta any, raw []byte) *line {
	n := &line{Seq: seq, Meta: meta}
	switch m := meta.(type) {
	case *agent.Spec:
		n.Type, n.Subtype, n.Time = "system", "born", m.Born
	case *wokeMeta:
		n.Type, n.Subtype, n.Time = "system", "woke", m.Time
	case *promptMeta:
		n.Type, n.Subtype, n.Time, n.Message = "user", "prompt", m.Time, userOf(raw)
	case *forkMeta:
		n.Type, n.Subtype, n.Time, n.Message = "user", "fork", m.Time, userOf(raw)
	case *requestMeta:
		for _, s := range m.Short { // the whole blocks have lines of their own
			raw = raw[min(s.Bytes, len(raw)):]
		}
		if len(raw) == 0 {
			return nil
		}
		n.Type, n.Subtype, n.Time, n.Message = "user", "mail", m.Time, userOf(raw)
	case *compactedMeta:
		n.Type, n.Subtype, n.Time, n.Message = "system", "compact_boundary", m.Time, userOf(raw)
	case *answerMeta:
		n.Type, n.Time, n.Message = "assistant", m.Time, raw
	case *finishMeta:
		n.Type, n.Subtype, n.Time, n.Message = "user", "tool_result", m.Time, userOf(raw)
	case *consentMeta:
		n.Type, n.Subtype, n.Time = "system", "consent", m.Time
	case *judgedMeta:
		n.Type, n.Subtype, n.Time, n.Message = "system", "judged", m.Time, raw
	case *heldMeta:
		n.Type, n.Subtype, n.Time = "system", "letter", m.Time
	case *protocolMeta:
		n.Type, n.Subtype, n.Time = "system", "protocol", m.Time
		if len(raw) > 0 {
			n.Message = userOf(raw)
		}
	case *endMeta:
		n.Type, n.Subtype, n.Time = "system", "turn_end", m.Time
	case *closedMeta:
		n.Type, n.Subtype, n.Time = "system", "closed", m.Time
	default:
		return nil
	}
	return n
}

func userOf(blocks []byte) json.RawMessage {
	return joinBytes(`{"role":"user","content":[`, blocks, `]}`)
}

func joinBytes(head string, body []byte, tail string) []byte {
	out := make([]byte, 0, len(head)+len(body)+len(tail))
	return append(append(append(out, head...), body...), tail...)
}

func (n *line) encode(t *Transcript) []byte {
	n.Session, n.Agent, n.Name = t.store.session, t.key, t.state.Spec.Name
	head, err := json.Marshal(n)
	if err != nil {
		return nil // every field is plain data
	}
	if n.Message == nil {
		return append(head, '\n')
	}
	return append(joinBytes(string(head[:len(head)-1])+`,"message":`, n.Message, "}"), '\n')
}

// cutTorn checks the last line of every file in dir. A line without an end was cut by a
// crash: cutTorn reports it and, with repair, moves it to another file.
func cutTorn(dir string, repair bool) (notes []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && (repair || !errors.Is(err, fs.ErrNotExist)) {
		return nil, fmt.Errorf("transcript: list %s: %w", dir, err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".jsonl") {
			continue
		}
		note, err := cutTornFile(filepath.Join(dir, e.Name()), repair)
		if err != nil {
			return notes, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

func cutTornFile(path string, repair bool) (note string, err error) {
	flag := os.O_RDONLY
	if repair {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return "", fmt.Errorf("transcript: open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	tail, at, err := lastLine(f)
	if err != nil || len(tail) == 0 {
		return "", err
	}
	if !repair {
		return fmt.Sprintf("%s: the last line is torn (%d bytes); the next start moves it to a file of its own", path, len(tail)), nil
	}
	if err := os.WriteFile(path+".torn", tail, 0o600); err != nil {
		return "", fmt.Errorf("transcript: copy the torn line of %s: %w", path, err)
	}
	if err := f.Truncate(at); err != nil {
		return "", fmt.Errorf("transcript: cut the torn line of %s: %w", path, err)
	}
	return fmt.Sprintf("%s: the last line was torn (%d bytes); it was moved to %s.torn", path, len(tail), filepath.Base(path)), nil
}

// lastLine returns what follows the last line feed of f, and where it begins.
func lastLine(f *os.File) (tail []byte, at int64, err error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("transcript: size of %s: %w", f.Name(), err)
	}
	const step = 64 << 10
	for at = end; at > 0; {
		n := min(step, at)
		chunk := make([]byte, n)
		if _, err := f.ReadAt(chunk, at-n); err != nil {
			return nil, 0, fmt.Errorf("transcript: read %s: %w", f.Name(), err)
		}
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			return append(chunk[i+1:], tail...), at - n + int64(i) + 1, nil
		}
		tail, at = append(chunk, tail...), at-n
	}
	return tail, 0, nil
}
