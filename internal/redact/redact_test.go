package redact

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/tool"
)

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum   = letters + "0123456789"
	wide    = alnum + "_-"
	hex     = "0123456789abcdef"
)

// formats are the published shapes of keys: %s is what is random, with its alphabet and
// length.
var formats = []struct {
	format, alphabet string
	length           int
}{
	{"sk-ant-api03-%s", wide, 95},
	{"sk-ant-oat01-%s", wide, 86},
	{"sk-proj-%s", wide, 120},
	{"sk-%s", alnum, 48},
	{"sk-or-v1-%s", hex, 64},
	{"AKIA%s", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16},
	{"ASIA%s", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16},
	{"aws_secret_access_key = %s", alnum + "/+", 40},
	{`"AWSSecretKey": "%s"`, alnum, 40},
	{"AWS_SECRET_ACCESS_KEY=%s", alnum + "/+", 40},
	{"ghp_%s", alnum, 36},
	{"gho_%s", alnum, 36},
	{"ghs_%s", alnum, 36},
	{"github_pat_%s", alnum + "_", 82},
	{"glpat-%s", wide, 20},
	{"xoxb-123456789012-%s", alnum, 24},
	{"xapp-1-A0-%s", alnum, 40},
	{"https://hooks.slack.com/services/T0/B0/%s", alnum, 24},
	{"AIza%s", wide, 35},
	{"ya29.%s", wide, 60},
	{"GOCSPX-%s", wide, 28},
	{"sk_live_%s", alnum, 24},
	{"rk_test_%s", alnum, 24},
	{"whsec_%s", alnum, 32},
	{"npm_%s", alnum, 36},
	{"pypi-AgEIcHlwaS5vcmc%s", wide, 120},
	{"cio%s", alnum, 32},
	{"hf_%s", letters, 34},
	{"dop_v1_%s", hex, 64},
	{"dapi%s", hex, 32},
	{"shpat_%s", hex, 32},
	{"lin_api_%s", alnum, 40},
	{"gsk_%s", alnum, 52},
	{"xai-%s", alnum, 80},
	{"AccountKey=%s==", alnum + "+/", 86},
	{"dckr_pat_%s", wide, 27},
	{"hvs.%s", wide, 90},
	{"AGE-SECRET-KEY-1%s", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58},
	{"postgres://app:%s@db.example.com/x", alnum, 16},
	{"-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----", alnum + "+/\n", 800},
	{"-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n-----END OPENSSH PRIVATE KEY-----", alnum + "+/", 400},
	{"-----BEGIN PRIVATE KEY-----\n%s", alnum + "+/\n", 200}, // cut
}

func random(r *rand.Rand, alphabet string, n int) string {
	var b strings.Builder
	b.WriteByte(alphabet[r.IntN(min(len(alphabet), 10))]) // no sign at the ends, where a word would end
	for range n - 2 {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	b.WriteByte(alphabet[r.IntN(min(len(alphabet), 10))])
	return b.String()
}

// around is what a key may stand in.
var around = []string{
	"%s", "KEY=%s", "export KEY='%s'\n", "Authorization: Bearer %s\r\n", "     3\tconst key = \"%s\";\n", "a,%s,b", "<v>%s</v>", "url?key=%s&x=1", "(%s)", "`%s`", "üñ %s…",
}

func TestGeneratedKeysAreRemoved(t *testing.T) {
	each := 20
	if os.Getenv("SWARM_SOAK") != "" {
		each = 2000
	}
	r, secrets := rand.New(rand.NewPCG(1, 2)), New()
	for _, f := range formats {
		for range each {
			part := random(r, f.alphabet, f.length)
			key := fmt.Sprintf(f.format, part)
			for _, a := range around {
				text := fmt.Sprintf(a, key)
				quoted, err := json.Marshal(text)
				if err != nil {
					t.Fatal(err)
				}
				for _, in := range []string{text, string(quoted)} {
					out, kinds := secrets.Text(in)
					if probe := part[5:min(len(part), 15)]; strings.Contains(out, probe) || len(kinds) != 1 {
						t.Fatalf("%q became %q (%v)", in, out, kinds)
					}
				}
			}
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	for _, text := range []string{
		"", "task-list sk-learn risk-free-choice-of-a-very-long-name-without-any-digits", "github.com/owner/repository_with_a_long_name",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "a3bf4f1b-2b0b-822c-d15d-6c15b0f00a08",
		"commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "https://user@example.com/path", "https://example.com:8080/a@b", "postgres://user:$PASSWORD@host",
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "see -----BEGIN PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9", "npm_config_registry=https://example.com",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", "SG.short", "AIzaNot", "AKIA", "the key sk-ant-... is set",
		"ghp_ is the prefix", "time.Duration://", "git@github.com:owner/name.git", "http://localhost:8080/x", "npm_lifecycle_event=test",
	} {
		if out, kinds := New().Text(text); out != text || kinds != nil {
			t.Errorf("%q became %q (%v)", text, out, kinds)
		}
	}
}

func TestKnownValuesAreRemoved(t *testing.T) {
	s := New("", "short", "a value without any shape")
	out, kinds := s.Text("short: a value without any shape.")
	if out != "short: [redacted: key of this session]." || !slices.Equal(kinds, []string{"key of this session"}) {
		t.Errorf("%q, %v", out, kinds)
	}
}

// did is a tool that counts its runs.
type did struct {
	name string
	runs int
}

func (d *did) Spec() tool.Spec { return tool.Spec{Name: d.name} }

func (d *did) Run(context.Context, tool.Call) (tool.Result, error) {
	d.runs++
	return tool.Result{}, nil
}

func TestNoPlaceholderIsWritten(t *testing.T) {
	s := New()
	for name, runs := range map[string]int{"Write": 0, "Edit": 0, "NotebookEdit": 0, "Bash": 0, "Read": 1, "SendMessage": 1} {
		for _, sh := range append(shapes(), shape{kind: sessionKey}) {
			d := &did{name: name}
			r, err := s.Tools([]tool.Tool{d})[0].Run(t.Context(), tool.Call{Input: []byte(`{"content": "a=` + placeholder(sh.kind) + `"}`)})
			if err != nil || d.runs != runs || r.IsError != (runs == 0) {
				t.Errorf("%s with %s: run %d times, %+v, %v", name, placeholder(sh.kind), d.runs, r, err)
			}
		}
		d := &did{name: name}
		_, _ = s.Tools([]tool.Tool{d})[0].Run(t.Context(), tool.Call{Input: []byte(`{"content": "[redacted: words]"}`)})
		if d.runs != 1 {
			t.Errorf("%s does not take what only looks like a placeholder", name)
		}
	}
}

func TestAResultNamesWhatWasRedacted(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1", 18)
	r := New().Result(tool.Result{Text: "token " + key, Detail: json.RawMessage(`{"stdout":"` + key + `"}`), IsError: true})
	if want := "token [redacted: GitHub token]\n(redacted here: GitHub token. The user sees them with SWARM_REDACT=off.)"; r.Text != want || !r.IsError {
		t.Errorf("text %q, want %q", r.Text, want)
	}
	if string(r.Detail) != `{"stdout":"[redacted: GitHub token]"}` {
		t.Errorf("detail %s", r.Detail)
	}
	plain := tool.Result{Text: "fine", Detail: json.RawMessage(`{}`)}
	if r := New().Result(plain); r.Text != plain.Text || string(r.Detail) != "{}" {
		t.Errorf("an ordinary result became %+v", r)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"sk-ant-" + strings.Repeat("x", 30), "-----BEGIN PRIVATE KEY-----" + strings.Repeat("y", 90), "a://b:cdefghij@"} {
		f.Add(s)
	}
	s := New()
	f.Fuzz(func(t *testing.T, text string) {
		once, kinds := s.Text(text)
		if (once == text) != (kinds == nil) {
			t.Errorf("%q became %q with %v", text, once, kinds)
		}
		if twice, _ := s.Text(once); twice != once {
			t.Errorf("%q became %q", once, twice)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("     1\tfunc (t *Turn) run(ctx context.Context) error { return t.next(ctx, \"https://example.com\") }\n", 1000)
	s := New()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Text(text)
	}
}
