package price_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/model"
	"pgregory.net/rapid"
)

func TestUnknownIsUnknown(t *testing.T) {
	list := price.List()
	for _, id := range []string{"claude-sonnet-99", "gpt-5-pro", "gpt-5.5", "gpt-4o-audio", "llama3", "", "script:demo.yaml", "claude-opus-5-55"} {
		if p, ok := list.Of(id); ok {
			t.Errorf("%q has the price %+v, which is a guess", id, p)
		}
		if c := list.Cost(model.Usage{InputTokens: 1}, id); !c.Unknown || c.String() != "$?" {
			t.Errorf("a token of %q costs %v", id, c)
		}
		if w := list.Window(id); w != 0 {
			t.Errorf("%q has a window of %d", id, w)
		}
	}
	if c := list.Cost(model.Usage{InputTokens: 500_000}, "llama3", "gpt-5-mini"); c.String() != "$0.12" && c.String() != "$0.13" {
		t.Errorf("the second name is known, and it costs %v", c)
	}
	if c := list.Cost(model.Usage{}, "llama3"); c.Unknown {
		t.Error("what was not used costs nothing, whoever makes it")
	}
}

func TestAnIdMeansItsModelWhereverItRuns(t *testing.T) {
	list := price.List()
	for id, input := range map[string]float64{
		"claude-sonnet-5-5": 2, "claude-sonnet-5-5[1m]": 2, "claude-opus-4-5-20251101": 5, "claude-opus-4-1@20250805": 15,
		"us.anthropic.claude-opus-4-5-20251101-v1:0": 5, "anthropic/claude-haiku-4-5": 1, "CLAUDE-OPUS-5": 5,
		"claude-opus-4-20250514": 15, "claude-sonnet-4-5": 3, "gpt-5-2025-08-07": 1.25, "gpt-5-mini": 0.25, "openai/gpt-4.1": 2,
	} {
		p, ok := list.Of(id)
		if !ok || p.Input.Dollars() != input {
			t.Errorf("a million input tokens of %s cost %v (%v), want %v", id, p.Input, ok, input)
		}
	}
	for id, want := range map[string]int64{"claude-sonnet-5-5": 1_000_000, "claude-sonnet-4-5": 200_000, "claude-sonnet-4-5[1m]": 1_000_000, "gpt-4o": 128_000} {
		if got := list.Window(id); got != want {
			t.Errorf("the window of %s is %d, want %d", id, got, want)
		}
	}
}

func TestSumsAreExact(t *testing.T) {
	list := price.List()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"claude-haiku-4-5", "gpt-5-nano", "claude-sonnet-5-5"}).Draw(t, "id")
		var total model.Usage
		var sum budget.Cost
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			n := func(what string) int64 { return rapid.Int64Range(0, 99_999).Draw(t, what) }
			u := model.Usage{InputTokens: n("in"), OutputTokens: n("out"), CacheReadInputTokens: n("read"), CacheCreationInputTokens: n("write")}
			total, sum = total.Add(u), sum.Add(list.Cost(u, id))
		}
		if all := list.Cost(total, id); all != sum {
			t.Fatalf("the requests cost %d one by one and %d together", sum.USD, all.USD)
		}
	})
}

func TestALongPromptHasItsOwnPrice(t *testing.T) {
	p, _ := price.List().Of("claude-haiku-5-5")
	short := p.Of(model.Usage{CacheReadInputTokens: 100_000, OutputTokens: 1000})
	long := p.Of(model.Usage{CacheReadInputTokens: 100_001, OutputTokens: 1000})
	if short.Dollars() != 0.0015 || long <= 4*short {
		t.Errorf("100,000 tokens cost %v, one more %v", short, long)
	}
	in, out := p.AtMost(100_001)
	if in < long-1000*out || out != budget.Dollar*5/2/1_000_000 {
		t.Errorf("at most %v and %d a token, for what costs %v", in, out, long)
	}
}

func TestTheUsersWordCounts(t *testing.T) {
	table, err := price.Load(write(t, `
llama: {input: 0, output: 0, window: 32_000}
house-model: {input: 1.5, output: 6}
claude-sonnet-5-5: {output: 8.25}
gpt-5: {window: 1000}
claude-opus-5: {input: 4, output: 20, long: {above: 100000, input: 8}}
`))
	if err != nil {
		t.Fatal(err)
	}
	million := model.Usage{InputTokens: 1_000_000, OutputTokens: 1_000_000, CacheReadInputTokens: 1_000_000}
	for id, want := range map[string]string{
		"llama3.1:8b": "$0.00", "house-model-2": "$9.00", "claude-sonnet-5-5": "$10.35", "gpt-5": "$11.38", "claude-opus-5": "$28.50",
	} {
		if got := table.Cost(million, id).String(); got != want {
			t.Errorf("three million tokens of %s cost %s, want %s", id, got, want)
		}
	}
	if a, b := table.Window("llama3.1:8b"), table.Window("gpt-5"); a != 32_000 || b != 1000 {
		t.Errorf("the windows are %d and %d", a, b)
	}
	if _, err := price.Load(filepath.Join(t.TempDir(), "none.yaml")); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestABrokenFileIsToldWithItsLines(t *testing.T) {
	path := write(t, "a: {input: x, output: 1}\nb: {inptu: 1}\nc: 3\nd: {window: 0}\ne: {long: {input: 1}}\nd: {input: -1, output: 1}\n")
	_, err := price.Load(path)
	if err == nil {
		t.Fatal("it was read")
	}
	for _, want := range []string{":1: input is \"x\"", ":2: there is no field \"inptu\"", ":3: c is not a list", ":4: window is \"0\"", ":5: long of e needs above", ":6: input is \"-1\""} {
		if !strings.Contains(err.Error(), path+want) {
			t.Errorf("%q is not told in: %v", want, err)
		}
	}
	if _, err := price.Load(write(t, "a: [")); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("no YAML: %v", err)
	}
}

func TestMoneyIsReadAndWritten(t *testing.T) {
	for text, want := range map[string]string{"5": "$5.00", "$1,000": "$1000.00", "0.25": "$0.25", ".0042": "$0.0042", "0.00000001": "<$0.0001", "0": "$0.00"} {
		got, err := budget.ParseUSD(text)
		if err != nil || got.String() != want {
			t.Errorf("%q is %v (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "five", "1.2.3", "1e9", "1000000", "$", "."} {
		if got, err := budget.ParseUSD(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
	for _, c := range []budget.Cost{{USD: budget.Dollar / 3}, {USD: 8999*budget.Dollar + 1}, {Unknown: true}, {}} {
		raw, err := json.Marshal(c)
		var back budget.Cost
		if err == nil {
			err = json.Unmarshal(raw, &back)
		}
		if err != nil || back != c {
			t.Errorf("%v is %s is %v: %v", c, raw, back, err)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
