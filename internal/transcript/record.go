package transcript

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// Kinds of journal records. The numbers are in files: only append.
const (
	kindBorn    byte = 1  // Spec
	kindWoke    byte = 2  // wokeMeta
	kindSetup   byte = 3  // system and tool blocks of the requests
	kindPrompt  byte = 4  // promptMeta + content blocks
	kindRequest byte = 5  // requestMeta + content blocks made of mail
	kindAnswer  byte = 6  // answerMeta + the message
	kindStart   byte = 7  // startMeta
	kindFinish  byte = 8  // finishMeta + the tool_result block
	kindEnd     byte = 9  // endMeta
	kindSent    byte = 10 // envelope
	kindArrived byte = 11 // cursor, envelope
	kindReceipt byte = 12 // receipt
	kindClosed  byte = 13 // closedMeta
	kindRole    byte = 15 // roleMeta
	kindAmend   byte = 16 // amendMeta
	kindFork    byte = 14 // forkMeta + content blocks that follow the parent's conversation

	kindCompacted byte = 17 // compactedMeta + content blocks that replace what was dropped
	kindConsent   byte = 18 // consentMeta
	kindTeams     byte = 19 // teamsMeta
	kindRead      byte = 20 // readMeta
	kindObserved  byte = 21 // observedMeta
	kindLaunched  byte = 22 // launchedMeta
	kindProtocol  byte = 23 // protocolMeta + a content block, if there is one for the agent
	kindHeld      byte = 24 // heldMeta
	kindJudged    byte = 25 // judgedMeta + what the model was shown, as JSON
)

type wokeMeta struct {
	Time        time.Time `json:"t"`
	Incarnation uint32    `json:"inc"`
}

type setupMeta struct {
	Time   time.Time         `json:"t"`
	System int               `json:"system"` // number of leading blocks that are system blocks
	Blocks []json.RawMessage `json:"-"`
}

type promptMeta struct {
	Time   time.Time `json:"t"`
	Origin string    `json:"origin"` // user, parent, hook, recovery
}

type forkMeta struct {
	Time   time.Time       `json:"t"`
	Parent mailbox.AgentID `json:"parent"`
	Seq    uint64          `json:"seq"` // of the parent's answer that asked for the fork
}

type roleMeta struct {
	Time  time.Time     `json:"t"`
	Role  agent.Role    `json:"role"`
	Woken *agent.Waking `json:"woken,omitempty"` // if it had ended
}

type amendMeta struct {
	Time     time.Time `json:"t"`
	Model    string    `json:"model"`
	Mode     string    `json:"mode"`
	MaxTurns int       `json:"max_turns"`
}

type teamsMeta struct {
	Time  time.Time          `json:"t"`
	Teams []agent.Membership `json:"teams"`
}

type requestMeta struct {
	Time  time.Time    `json:"t"`
	Mail  []mailbox.ID `json:"mail,omitempty"`
	Short []shortMeta  `json:"short,omitempty"` // the record's content begins with these blocks
}

// shortMeta records that a block replaces one that was waiting: the first Bytes of what is
// left of the record's content.
type shortMeta struct {
	At    int `json:"at"` // its place among what was waiting
	Bytes int `json:"n"`
}

type compactedMeta struct {
	Time    time.Time    `json:"t"`
	Keep    int          `json:"keep"`    // messages at the end that are kept
	Tokens  int64        `json:"tokens"`  // of the conversation before
	Trigger string       `json:"trigger"` // auto, manual, too_long
	Usage   model.Usage  `json:"usage"`   // of the request that made the summary
	Cost    *budget.Cost `json:"cost_usd,omitempty"`
}

type answerMeta struct {
	Time  time.Time    `json:"t"`
	ID    string       `json:"id"`
	Model string       `json:"model"`
	Stop  string       `json:"stop"`
	Usage model.Usage  `json:"usage"`
	Cost  *budget.Cost `json:"cost_usd,omitempty"` // nil is unknown
}

type startMeta struct {
	Time time.Time `json:"t"`
	Call string    `json:"call"`
}

type finishMeta struct {
	Time    time.Time       `json:"t"`
	Call    string          `json:"call"`
	Name    string          `json:"name"`
	IsError bool            `json:"error,omitempty"`
	Took    time.Duration   `json:"took"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

type endMeta struct {
	Time    time.Time     `json:"t"`
	Outcome agent.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Text    string        `json:"text,omitempty"`
}

type closedMeta struct {
	Time   time.Time      `json:"t"`
	Reason string         `json:"reason,omitempty"`
	Kept   *agent.KeptDir `json:"kept,omitempty"`
}

// encode joins the meta data of a record and bytes that must be kept exactly.
// JSON of a meta type holds no line feed, so the first one ends it.
func encode(meta any, raw []byte) ([]byte, error) {
	head, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("transcript: encode %T: %w", meta, err)
	}
	out := make([]byte, 0, len(head)+1+len(raw))
	return append(append(append(out, head...), '\n'), raw...), nil
}

var errNoMeta = errors.New("transcript: record has no meta data")

// decode fills meta and returns the kept bytes, which alias data.
func decode(data []byte, meta any) ([]byte, error) {
	head, raw, ok := bytes.Cut(data, []byte{'\n'})
	if !ok {
		return nil, errNoMeta
	}
	if err := json.Unmarshal(head, meta); err != nil {
		return nil, fmt.Errorf("transcript: decode %T: %w", meta, err)
	}
	return raw, nil
}

func encodeArrival(e mailbox.Envelope, c mailbox.Cursor) []byte {
	data := make([]byte, 16, 16+256+len(e.Body))
	binary.LittleEndian.PutUint64(data, uint64(c.Stream))
	binary.LittleEndian.PutUint64(data[8:], c.Seq)
	return e.AppendBinary(data)
}

func decodeArrival(data []byte) (mailbox.Envelope, mailbox.Cursor, error) {
	if len(data) < 16 {
		return mailbox.Envelope{}, mailbox.Cursor{}, errors.New("transcript: arrival record is too short")
	}
	c := mailbox.Cursor{
		Stream: int64(binary.LittleEndian.Uint64(data)),
		Seq:    binary.LittleEndian.Uint64(data[8:]),
	}
	e, err := mailbox.DecodeBinary(data[16:])
	return e, c, err
}

// userMessage builds a user message around blocks that are already encoded.
func userMessage(blocks [][]byte) (model.Message, error) {
	raw := append([]byte(nil), `{"role":"user","content":[`...)
	for i, b := range blocks {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, b...)
	}
	return model.MessageFromRaw(append(raw, `]}`...))
}
