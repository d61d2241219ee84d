package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func golden() Envelope {
	return Envelope{
		ID: "mfrggzdfmztwq2lknnwg23tpoa", From: Address{"a1b2", 3}, To: Address{Agent: "lead"},
		FromName: `Bücher "sucher"`, ToName: "lead", Seq: 7, Skips: 2, Kind: KindAgentReport,
		Sent: time.Date(2026, 11, 21, 3, 4, 5, 678, time.UTC), InReplyTo: "orsxg5a",
		Summary: "tests pass", Body: "line one\nline two\t\\ \x01 <&> 🐝",
	}
}

func TestEnvelopeWireFormIsTheGoldenOne(t *testing.T) {
	want, err := os.ReadFile("testdata/envelope_v1.json")
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.TrimSpace(want)
	if diff := cmp.Diff(string(want), string(golden().AppendJSON(nil))); diff != "" {
		t.Errorf("AppendJSON (-golden +got):\n%s", diff)
	}
	got, err := DecodeEnvelope(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden(), got); diff != "" {
		t.Errorf("DecodeEnvelope (-want +got):\n%s", diff)
	}
}

func TestDecodeEnvelopeRefusesAmbiguity(t *testing.T) {
	good := string(golden().AppendJSON(nil))
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	for name, in := range map[string]string{
		"unknown kind":        replace(`"agent_report"`, `"control"`),
		"kind in other case":  replace(`"agent_report"`, `"Agent_report"`),
		"other version":       replace(`"v":1`, `"v":2`),
		"no version":          replace(`"v":1,`, ``),
		"no body":             good[:strings.Index(good, `,"body"`)] + "}",
		"duplicate key":       replace(`"seq":7`, `"seq":7,"seq":8`),
		"escaped duplicate":   replace(`"seq":7`, `"seq":7,"\u0073eq":8`),
		"wrong-case key":      replace(`"body"`, `"Body"`),
		"folded key":          replace(`"skips"`, `"ſkips"`),
		"unknown key":         replace(`"v":1`, `"v":1,"hops":1`),
		"invalid UTF-8":       replace("line one", "line\xff one"),
		"half a surrogate":    replace("line one", `line \ud83d one`),
		"control character":   replace("line one", "line\x01 one"),
		"negative number":     replace(`"seq":7`, `"seq":-7`),
		"float":               replace(`"seq":7`, `"seq":7.0`),
		"leading zero":        replace(`"seq":7`, `"seq":07`),
		"number too big":      replace(`"seq":7`, `"seq":18446744073709551616`),
		"sequence zero":       replace(`"seq":7,"skips":2`, `"seq":0`),
		"skips all":           replace(`"skips":2`, `"skips":7`),
		"address with zero":   replace(`"a1b2@3"`, `"a1b2@0"`),
		"address with dot":    replace(`"a1b2@3"`, `"a1.b2"`),
		"wildcard receiver":   replace(`"to":"lead"`, `"to":"*"`),
		"null":                replace(`"lead"`, `null`),
		"nested":              replace(`"tests pass"`, `{"a":1}`),
		"something behind":    good + "{}",
		"cut":                 good[:len(good)-2],
		"not an object":       "[]",
		"empty":               "",
		"bad time":            replace("2026-11-21T", "2026-13-21T"),
		"body too large":      replace("line one", strings.Repeat("x", MaxBody)),
		"summary too large":   replace("tests pass", strings.Repeat("x", MaxSummary+1)),
		"envelope over limit": replace("line one", strings.Repeat("x", MaxWire)),
	} {
		if e, err := DecodeEnvelope([]byte(in)); err == nil {
			t.Errorf("%s: accepted as %+v", name, e)
		}
	}
	if _, err := DecodeEnvelope([]byte(good)); err != nil {
		t.Errorf("the unchanged envelope: %v", err)
	}
}

func TestTooLargeErrorNamesPartAndSize(t *testing.T) {
	e := golden()
	e.Body = strings.Repeat("x", MaxBody+1)
	var large *TooLargeError
	if err := e.Validate(); !errors.As(err, &large) {
		t.Fatalf("Validate = %v, want *TooLargeError", err)
	}
	if want := (TooLargeError{What: "body", Size: MaxBody + 1, Limit: MaxBody}); *large != want {
		t.Errorf("got %+v, want %+v", *large, want)
	}
}

func TestLargestBodyFitsTheWireWhateverItHolds(t *testing.T) {
	e := golden()
	e.Body = strings.Repeat("\x01", MaxBody)
	e.Summary = strings.Repeat("\x01", MaxSummary)
	e.FromName, e.ToName = strings.Repeat("\x01", MaxName), strings.Repeat("\x01", MaxName)
	if got, err := DecodeEnvelope(e.AppendJSON(nil)); err != nil || got != e {
		t.Errorf("a body of control characters does not come back: %v", err)
	}
}

func token() *rapid.Generator[string] { return rapid.StringMatching(`[a-z0-9-]{1,64}`) }

func addresses() *rapid.Generator[Address] {
	return rapid.Custom(func(t *rapid.T) Address {
		return Address{AgentID(token().Draw(t, "agent")), rapid.Uint32().Draw(t, "incarnation")}
	})
}

func envelopes() *rapid.Generator[Envelope] {
	return rapid.Custom(func(t *rapid.T) Envelope {
		seq := rapid.Uint64Min(1).Draw(t, "seq")
		reply := ""
		if rapid.Bool().Draw(t, "answers") {
			reply = token().Draw(t, "reply")
		}
		return Envelope{
			ID: ID(token().Draw(t, "id")), From: addresses().Draw(t, "from"), To: addresses().Draw(t, "to"),
			FromName: rapid.StringN(0, 20, MaxName).Draw(t, "fromName"),
			ToName:   rapid.StringN(0, 20, MaxName).Draw(t, "toName"),
			Seq:      seq, Skips: rapid.Uint64Max(seq-1).Draw(t, "skips"),
			Kind:      rapid.SampledFrom(Kinds()).Draw(t, "kind"),
			Class:     rapid.SampledFrom(classes[:]).Draw(t, "class"),
			Key:       rapid.StringN(0, 20, MaxKey).Draw(t, "key"),
			Ref:       rapid.SampledFrom([]Ref{"", RefOf([]byte("x"))}).Draw(t, "ref"),
			Sent:      time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "sec"), rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC(),
			InReplyTo: ID(reply),
			Summary:   rapid.String().Draw(t, "summary"),
			Body:      rapid.String().Draw(t, "body"),
		}
	})
}

func TestEnvelopeRoundTripsInBothForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := envelopes().Draw(t, "envelope")
		wire := e.AppendJSON(nil)
		if !json.Valid(wire) {
			t.Fatalf("not JSON: %s", wire)
		}
		if got, err := DecodeEnvelope(wire); err != nil || got != e {
			t.Fatalf("JSON: %v\n%s", err, cmp.Diff(e, got))
		}
		if got, err := DecodeBinary(e.AppendBinary(nil)); err != nil || got != e {
			t.Fatalf("binary: %v\n%s", err, cmp.Diff(e, got))
		}
	})
}

// Journals hold envelopes of the first version, without class, key and reference.
func TestOlderRecordsAreRead(t *testing.T) {
	old, err := os.ReadFile("testdata/envelope_v1.bin")
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeBinary(old)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefMatchesItsBodyOnly(t *testing.T) {
	r := RefOf([]byte("hello"))
	if !r.Valid() || r.Size() != 5 || len(r.Hash()) != 64 || !r.Matches([]byte("hello")) || r.Matches([]byte("hellO")) {
		t.Errorf("%q: %v, %d, %q", r, r.Valid(), r.Size(), r.Hash())
	}
	for _, bad := range []Ref{"x", "sha256:00:1", r + "0x", "SHA" + r[3:], Ref(strings.ToUpper(string(r)))} {
		if bad.Valid() {
			t.Errorf("%q is taken for a reference", bad)
		}
	}
}

// Other readers of the wire form use an ordinary JSON parser.
func TestWireFormReadsTheSameWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := envelopes().Draw(t, "envelope")
		var got struct {
			V                                 int
			ID, From, To, Kind, Summary, Body string
			FromName                          string `json:"from_name"`
			ToName                            string `json:"to_name"`
			Seq, Skips                        uint64
			Sent                              time.Time
			InReplyTo                         string `json:"in_reply_to"`
		}
		if err := json.Unmarshal(e.AppendJSON(nil), &got); err != nil {
			t.Fatal(err)
		}
		if got.V != 1 || got.ID != string(e.ID) || got.From != e.From.String() || got.To != e.To.String() ||
			got.FromName != e.FromName || got.ToName != e.ToName || got.Seq != e.Seq || got.Skips != e.Skips ||
			got.Kind != string(e.Kind) || !got.Sent.Equal(e.Sent) || got.InReplyTo != string(e.InReplyTo) ||
			got.Summary != e.Summary || got.Body != e.Body {
			t.Fatalf("encoding/json reads %+v from %+v", got, e)
		}
	})
}

func TestReceiptRoundTripsInBothForms(t *testing.T) {
	states := []State{StateAccepted, StateDelivered, StateRead, StateAnswered, StateRejected, StateExpired, StateDead, StateFull}
	rapid.Check(t, func(t *rapid.T) {
		r := Receipt{
			From: addresses().Draw(t, "from"), To: addresses().Draw(t, "to"),
			State:   rapid.SampledFrom(states).Draw(t, "state"),
			Through: rapid.Uint64().Draw(t, "through"),
			Reason:  rapid.String().Draw(t, "reason"),
		}
		for _, id := range rapid.SliceOfN(token(), 0, 5).Draw(t, "ids") {
			r.IDs = append(r.IDs, ID(id))
		}
		wire := r.AppendJSON(nil)
		if !json.Valid(wire) {
			t.Fatalf("not JSON: %s", wire)
		}
		if got, err := DecodeReceipt(wire); err != nil || !cmp.Equal(got, r) {
			t.Fatalf("JSON: %v\n%s", err, cmp.Diff(r, got))
		}
		if got, err := DecodeBinaryReceipt(r.AppendBinary(nil)); err != nil || !cmp.Equal(got, r) {
			t.Fatalf("binary: %v\n%s", err, cmp.Diff(r, got))
		}
	})
}

func TestAddressHasOneSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := addresses().Draw(t, "address")
		if got, err := ParseAddress(a.String()); err != nil || got != a {
			t.Fatalf("ParseAddress(%q) = %v, %v", a.String(), got, err)
		}
	})
	for _, bad := range []string{"", "@1", "a@", "a@0", "a@01", "a@+1", "a@-1", "a@4294967296", "A", "a b", "a.b", "a@1@2", strings.Repeat("a", 65)} {
		if a, err := ParseAddress(bad); err == nil {
			t.Errorf("ParseAddress(%q) = %v, want an error", bad, a)
		}
	}
}

func TestNewIDIsRandomAndValid(t *testing.T) {
	seen := make(map[ID]bool)
	for range 1000 {
		id := NewID()
		if len(id) != 26 || !id.Valid() || seen[id] {
			t.Fatalf("NewID = %q", id)
		}
		seen[id] = true
	}
}

func FuzzDecodeEnvelope(f *testing.F) {
	f.Add(golden().AppendJSON(nil))
	f.Add([]byte(`{"v":1,"id":"a","from":"b","to":"c","seq":1,"kind":"text","sent":"2026-11-21T03:04:05Z","body":"\ud83d\udc1d"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeEnvelope(data)
		if err != nil {
			return
		}
		again, err := DecodeEnvelope(e.AppendJSON(nil))
		if err != nil || again != e {
			t.Fatalf("%+v was accepted and comes back as %+v, %v", e, again, err)
		}
	})
}

func FuzzDecodeBinary(f *testing.F) {
	f.Add(golden().AppendBinary(nil))
	f.Add(Receipt{From: Address{"a", 1}, To: Address{"b", 1}, State: StateRead, IDs: []ID{"x"}}.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := DecodeBinary(data); err == nil {
			if again, err := DecodeBinary(e.AppendBinary(nil)); err != nil || again != e {
				t.Fatalf("%+v comes back as %+v, %v", e, again, err)
			}
		}
		if _, err := DecodeBinaryReceipt(data); err == nil && len(data) == 0 {
			t.Fatal("an empty receipt record was accepted")
		}
		if err := NewLedger("a").Restore(data); err == nil && len(data) == 0 {
			t.Fatal("an empty snapshot was accepted")
		}
	})
}
