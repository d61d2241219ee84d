package mailbox

import (
	"errors"
	"strings"
	"testing"
)

// When a message enters a conversation, and whether it begins a turn, follows from
// its kind unless it has a class of its own.
func TestClassAndWakesFollowFromKind(t *testing.T) {
	quiet := map[Kind]bool{KindIdle: true, KindReceipt: true}
	for _, k := range Kinds() {
		want := ClassSteer
		switch k {
		case KindShutdownRequest:
			want = ClassControl
		case KindTaskCompleted, KindReceipt:
			want = ClassMail
		}
		e := Envelope{Kind: k}
		if got := e.EffectiveClass(); got != want {
			t.Errorf("a %s travels as %s, want %s", k, got, want)
		}
		for class, wakes := range map[Class]bool{ClassControl: true, ClassSteer: true, ClassMail: !quiet[k]} {
			e.Class = class
			if e.EffectiveClass() != class || e.Wakes() != wakes {
				t.Errorf("a %s of class %s travels as %s and wakes: %v, want %v", k, class, e.EffectiveClass(), e.Wakes(), wakes)
			}
		}
	}
}

func TestPeerIDs(t *testing.T) {
	for id, want := range map[AgentID]struct {
		session     string
		bridged, ok bool
	}{
		PeerID("s1"):   {"s1", false, true},
		BridgeID("s2"): {"s2", true, true},
		"alice":        {"alice", false, false},
	} {
		if session, bridged, ok := id.Peer(); session != want.session || bridged != want.bridged || ok != want.ok {
			t.Errorf("%s: %q, bridged %v, %v", id, session, bridged, ok)
		}
	}
}

func TestNameProblem(t *testing.T) {
	for name, want := range map[string]string{
		"": "is empty", strings.Repeat("x", 65): "is longer", strings.Repeat("x", 64): "", "Lead": "a meaning of its own",
		"user": "a meaning of its own", "a b": "may hold", "a/b": "may hold", "ä": "may hold", "azAZ09-_.": "",
		"`": "may hold", "{": "may hold", "@": "may hold", "[": "may hold", ":": "may hold",
	} {
		if got := NameProblem(name); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("BadName(%.20q) is %q, want %q", name, got, want)
		}
	}
}

func TestVerdictString(t *testing.T) {
	for v, want := range map[Verdict]string{
		Fresh: "fresh", Duplicate: "duplicate", Gap: "gap", Stale: "stale", Full: "full", WrongIncarnation: "wrong incarnation", Dead: "dead", 99: "verdict 99",
	} {
		if v.String() != want {
			t.Errorf("verdict %d is called %q, want %q", uint8(v), v, want)
		}
	}
}

func TestFinalStates(t *testing.T) {
	for s, want := range map[State]bool{
		StateAccepted: false, StateDelivered: false, StateRead: false, StateFull: false,
		StateAnswered: true, StateRejected: true, StateExpired: true, StateDead: true,
	} {
		if s.Final() != want {
			t.Errorf("%s is final: %v", s, s.Final())
		}
	}
}

// A sender refuses what a receiver would; the error names the part.
func TestValidateNamesTheInvalidPart(t *testing.T) {
	limits := map[string]struct {
		limit int
		set   func(*Envelope, string)
	}{
		"body":            {MaxBody, func(e *Envelope, s string) { e.Body = s }},
		"summary":         {MaxSummary, func(e *Envelope, s string) { e.Summary = s }},
		"sender's name":   {MaxName, func(e *Envelope, s string) { e.FromName = s }},
		"receiver's name": {MaxName, func(e *Envelope, s string) { e.ToName = s }},
		"key":             {MaxKey, func(e *Envelope, s string) { e.Key = s }},
	}
	for what, part := range limits {
		e := golden()
		part.set(&e, strings.Repeat("x", part.limit))
		if err := e.Validate(); err != nil {
			t.Errorf("the largest %s: %v", what, err)
		}
		part.set(&e, strings.Repeat("x", part.limit+1))
		var large *TooLargeError
		if err := e.Validate(); !errors.As(err, &large) || large.What != what {
			t.Errorf("a %s that is too large: %v", what, err)
		}
		part.set(&e, "\xff")
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), what+" of message") {
			t.Errorf("a %s that is no text: %v", what, err)
		}
	}
}

func TestValidateReceipt(t *testing.T) {
	good := bobs(StateRead, 3, "m1")
	good.Reason = strings.Repeat("x", MaxSummary)
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Receipt){
		"from":             func(r *Receipt) { r.From.Agent = "B" },
		"to":               func(r *Receipt) { r.To.Agent = "" },
		"unknown state":    func(r *Receipt) { r.State = "lost" },
		"it has 1025":      func(r *Receipt) { r.Reason += "x" },
		"must be UTF-8":    func(r *Receipt) { r.Reason = "\xff" },
		"not a message id": func(r *Receipt) { r.IDs = append(r.IDs, "M 2") },
	} {
		r := good
		spoil(&r)
		if MaxSummary != 1024 && strings.HasPrefix(want, "it has") {
			want = "it has "
		}
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The error names the fault and its place, and nothing else.
func TestDecodeEnvelopeErrorNamesTheFault(t *testing.T) {
	good := string(golden().AppendJSON(nil))
	replace := func(old, with string) string { return strings.Replace(good, old, with, 1) }
	for want, in := range map[string]string{
		"unknown key":                   replace(`"v":1`, `"v":1,"hops":1`),
		`"hops"`:                        replace(`"v":1`, `"v":1,"hops":1`),
		`key "seq" twice`:               replace(`"seq":7`, `"seq":7,"seq":7`),
		`"v" is missing`:                replace(`"v":1,`, ``),
		"version 2, this program reads": replace(`"v":1`, `"v":2`),
		"leading zero":                  replace(`"seq":7`, `"seq":07`),
		"natural number":                replace(`"seq":7`, `"seq":-7`),
		`unknown escape \q`:             replace("line one", `line \q`),
		"half of a surrogate pair":      replace("line one", `line \ud83d one`),
		"half of a surrogate":           replace("line one", `line \ud83d\u0041`),
		"string without":                good[:strings.Index(good, "line one")+4],
		"something follows":             good + "{}",
		`':' expected`:                  replace(`"seq":7`, `"seq" 7`),
		`'{' expected`:                  "[]",
		`',' expected`:                  replace(`"seq":7,`, `"seq":7 `),
		"parsing time":                  replace("2026-11-21T", "2026-13-21T"),
		"at byte 0":                     "",
	} {
		if _, err := DecodeEnvelope([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDecodeEnvelopeAcceptsSpaceAndEscapes(t *testing.T) {
	good := string(golden().AppendJSON(nil))
	spaced := strings.NewReplacer(`{"v":1,`, "\n\t{ \"v\" :\r\n 1 , ", `"seq":7`, `"seq" : 7 `).Replace(good) + " \n"
	got, err := DecodeEnvelope([]byte(spaced))
	if err != nil || got != golden() {
		t.Errorf("with space: %+v, %v", got, err)
	}
	escaped := strings.Replace(good, "line one", `\"\\\/\b\f\n\r\t\u0041\u00e4\uD83D\udc1D`, 1)
	if got, err := DecodeEnvelope([]byte(escaped)); err != nil || !strings.HasPrefix(got.Body, "\"\\/\b\f\n\r\tAä🐝\n") {
		t.Errorf("with escapes: %q, %v", got.Body, err)
	}
}

// A snapshot that does not fit together is refused, and the ledger stays.
func TestDamagedSnapshotChangesNothing(t *testing.T) {
	from := NewLedger(bob)
	from.Arrived(Envelope{ID: "m1", From: Address{alice, 1}, To: Address{bob, 1}, Seq: 1, Kind: KindText, Body: "hi"}, Cursor{})
	good := from.AppendSnapshot(nil)
	stays := func(l *Ledger, data []byte, want string) {
		t.Helper()
		before := string(l.AppendSnapshot(nil))
		if err := l.Restore(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if string(l.AppendSnapshot(nil)) != before {
			t.Error("the ledger has changed")
		}
	}
	stays(NewLedger(alice), good, `it belongs to "bob"`)
	for n := range good {
		stays(NewLedger(bob), good[:n], "restore the ledger of bob")
	}
	stays(NewLedger(bob), append(good[:len(good):len(good)], 0), "restore the ledger of bob")
	stranger := *from
	stranger.in = map[AgentID]*mark{"carol": {seq: 1}}
	stays(NewLedger(bob), stranger.AppendSnapshot(nil), "restore the ledger of bob")
}

func TestLaneAcceptsAMessageOnce(t *testing.T) {
	l := &lane{}
	if e := (Envelope{ID: "m2", Seq: 2, Skips: 1}); !l.push(e) || l.push(e) {
		t.Error("a message is new once")
	}
	if !l.push(Envelope{ID: "m3", Seq: 3}) || l.last != 3 || l.acked != 0 {
		t.Errorf("the lane is %+v", l)
	}
	l.deliver(3)
	if l.push(Envelope{ID: "m3", Seq: 3}) {
		t.Error("what the receiver has is new")
	}
}

func TestReplyMarksItsMessageAnswered(t *testing.T) {
	l := NewLedger(alice)
	compose(t, l, 2)
	answer := Envelope{ID: "a1", From: Address{bob, 1}, To: Address{alice, 1}, Seq: 1, Kind: KindText, Body: "yes", InReplyTo: "m2"}
	l.Arrived(answer, Cursor{})
	if one, two := stateOf(l, "m1"), stateOf(l, "m2"); one.Final() || two != StateAnswered {
		t.Errorf("m1 is %s and m2 %s", one, two)
	}
}
