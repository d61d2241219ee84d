package autojudge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/model"
)

// maxReason is how long the reason of a verdict is for agents and people, in bytes.
const maxReason = 600

// verdictOf reads an answer. It must be a whole answer that is one JSON object with the
// keys verdict and reason.
func verdictOf(a *model.Answer) (v agent.Verdict, reason string, err error) {
	switch {
	case a == nil:
		return "", "", errors.New("there was no answer")
	case len(a.Calls()) > 0:
		return "", "", errors.New("the answer calls a tool")
	case a.StopReason != "" && a.StopReason != model.StopEndTurn && a.StopReason != model.StopSequence:
		return "", "", fmt.Errorf("the answer ended with %s", a.StopReason)
	}
	fields, err := readObject(unfenced(a.Text()))
	if err != nil {
		return "", "", err
	}
	reason = strings.Join(strings.Fields(fields["reason"]), " ")
	switch v = agent.Verdict(fields["verdict"]); {
	case v != agent.Allowed && v != agent.Denied:
		return "", "", fmt.Errorf("the verdict is %.40q", fields["verdict"])
	case reason == "":
		return "", "", errors.New("the verdict has no reason")
	}
	return v, cut(reason, maxReason), nil
}

// unfenced removes the fence that models put around JSON.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```json"); ok {
		if inner, ok = strings.CutSuffix(inner, "```"); ok {
			return strings.TrimSpace(inner)
		}
	}
	return text
}

// readObject reads an object of texts with the keys of a verdict, each once.
func readObject(text string) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("the answer is not a JSON object")
	}
	fields := map[string]string{}
	for dec.More() {
		tok, err := dec.Token()
		key, _ := tok.(string)
		if err != nil || key != "verdict" && key != "reason" {
			return nil, fmt.Errorf("the answer is no verdict: it has %.40q", key)
		}
		var value string
		if _, twice := fields[key]; twice || dec.Decode(&value) != nil {
			return nil, fmt.Errorf("the answer is no verdict: %s is given twice or is no text", key)
		}
		fields[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("the answer is not whole")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the answer is more than a verdict")
	}
	return fields, nil
}
