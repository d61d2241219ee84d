package mcpclient

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serverMode makes the test binary a server that behaves as the variable says.
const serverMode = "SWARM_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(serverMode); mode != "" {
		(&hostile{mode: mode}).serve()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hostile is a server written without the library, so that it can do what that does not.
type hostile struct {
	mode    string
	changed bool
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
		Cursor    string            `json:"cursor"`
		Meta      map[string]any    `json:"_meta"`
	} `json:"params"`
}

func (h *hostile) serve() {
	if h.mode == "dead" {
		fmt.Fprintln(os.Stderr, "no such database")
		os.Exit(4)
	}
	if h.mode == "noise" {
		fmt.Println("Server starting\n\n  on stdio …")
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var r request
		if json.Unmarshal(in.Bytes(), &r) != nil || len(r.ID) == 0 {
			continue
		}
		switch r.Method {
		case "initialize":
			if h.mode == "silent" {
				time.Sleep(time.Hour)
			}
			h.reply(r, `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"h","version":"1"}}`)
		case "tools/list":
			h.list(r)
		case "tools/call":
			h.call(r)
		case "ping":
			h.reply(r, `"result":{}`)
		default:
			h.reply(r, `"error":{"code":-32601,"message":"method not found"}`)
		}
	}
}

func (h *hostile) reply(r request, what string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.ID, what)
}

func (h *hostile) text(r request, text string) {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	h.reply(r, `"result":{"content":[{"type":"text","text":`+string(raw)+`}]}`)
}

func (h *hostile) list(r request) {
	tools, cursor := []string{}, ""
	tool := func(name, description, schema string) {
		raw, err := json.Marshal([]string{name, description})
		if err != nil {
			panic(err)
		}
		both := strings.SplitN(strings.Trim(string(raw), "[]"), `","`, 2)
		tools = append(tools, fmt.Sprintf(`{"name":%s","description":"%s,"inputSchema":%s}`, both[0], both[1], schema))
	}
	const object = `{"type":"object"}`
	switch h.mode {
	case "rude":
		tool("plain", "A \x1b[31mred\x1b[0m and \u202eturned\x00 text.\nSecond line.", `{"type":"object","properties":{"a":{}},"anyOf":[{"properties":{"b":{}},"required":["b"]}]}`)
		tool("a b", "", object)
		tool("a\x1b]0;b", "", object)
		tool("a.b", "", object)
		tool(strings.Repeat("n", 200), "", object)
		tool("large", "", `{"type":"object","description":"`+strings.Repeat("x", 5<<20)+`"}`)
		tool("text", "", `{"type":"string"}`)
		tool("long", strings.Repeat("d", 1<<20), object)
	case "many":
		for i := range 500 {
			tool(fmt.Sprintf("t%s%d", r.Params.Cursor, i), "", object)
		}
		cursor = fmt.Sprintf(`,"nextCursor":"%sx"`, r.Params.Cursor)
	default:
		for _, name := range []string{"echo", "environment", "never", "die", "change", "daemon", "flood", "large", "refuse", "progress", "fail"} {
			tool(name, "Does "+name+".", `{"type":"object","properties":{"text":{"type":"string"}}}`)
		}
		if h.changed {
			tool("fresh", "Is new.", object)
		}
	}
	h.reply(r, `"result":{"tools":[`+strings.Join(tools, ",")+`]`+cursor+`}`)
}

func (h *hostile) call(r request) {
	switch r.Params.Name {
	case "echo":
		h.text(r, r.Params.Arguments["text"])
	case "environment":
		h.text(r, strings.Join(os.Environ(), "\n"))
	case "never":
	case "refuse":
		h.reply(r, `"error":{"code":-32602,"message":"not \u001b[31mthat"}`)
	case "fail":
		h.reply(r, `"result":{"isError":true,"content":[{"type":"text","text":"the disk is full"}]}`)
	case "die":
		fmt.Fprintln(os.Stderr, "panic: \x1b[31mout of luck")
		os.Exit(3)
	case "change":
		h.changed = true
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		h.text(r, "changed")
	case "daemon":
		cmd := exec.Command("sleep", "600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		h.text(r, fmt.Sprint(cmd.Process.Pid))
	case "flood":
		line := strings.Repeat("z", 1<<20)
		for {
			fmt.Println(line)
		}
	case "large":
		h.text(r, strings.Repeat("é", 6<<20))
	case "progress":
		for i := range 5 {
			raw, err := json.Marshal(r.Params.Meta["progressToken"])
			if err != nil {
				panic(err)
			}
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", raw, i+1)
		}
		h.text(r, "done")
	}
}
