package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
)

// runOutside is the life of the program outside: it writes numbered messages to
// everybody, each until it is accepted, and reads its mail into a file.
func runOutside(dir string) error {
	var addr, seed string
	var mates, steps int
	var pause time.Duration
	if _, err := fmt.Sscan(os.Getenv("SWARM_CHAOS_OUTSIDE"), &addr, &seed, &mates, &steps, (*int64)(&pause)); err != nil {
		return err
	}
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		return err
	}
	conn, err := nats.Connect("nats://"+addr, key, nats.CustomInboxPrefix("_INBOX.c0"), nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		return err
	}
	o := &outside{conn: conn, dir: dir}
	go o.readAll()
	all := (&cluster{mates: mates}).names()
	s := sender{dir: dir, say: func(string) {}}
	count, err := os.OpenFile(filepath.Join(dir, "sent.c0"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for i := progress(s.dir, "c0"); i < steps*len(all[:mates+1]); {
		to := all[i%(mates+1)]
		text := fmt.Sprintf("#c0>%s:%d.0#", to, i/(mates+1))
		var out struct{ Error string }
		if err := o.ask("send", map[string]any{"to": to, "text": text, "key": text}, &out); err != nil || out.Error != "" {
			time.Sleep(20 * time.Millisecond) // full, not there yet, or no owner: the same again
			continue
		}
		i++
		if _, err := count.WriteAt(fmt.Appendf(nil, "%8d", i), 0); err != nil {
			return err
		}
		time.Sleep(pause / time.Duration(mates+1))
	}
	<-context.Background().Done()
	return nil
}

type outside struct {
	conn *nats.Conn
	dir  string
}

func (o *outside) ask(verb string, in, out any) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	m, err := o.conn.Request("sw."+session+".in.c0."+verb, raw, 2*time.Second)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Data, out)
}

// readAll writes each message to disk before it acknowledges it. After a kill in
// between the same message comes again, with the same id.
func (o *outside) readAll() {
	file, err := os.OpenFile(filepath.Join(o.dir, "got.c0"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	last := ""
	for {
		var out struct {
			Messages []struct{ ID, Text string }
			Error    string
		}
		in := map[string]any{}
		if last != "" {
			in["last"] = last
		}
		if err := o.ask("read", in, &out); err != nil || out.Error != "" || len(out.Messages) == 0 {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		for _, m := range out.Messages {
			if _, err := fmt.Fprintf(file, "%s %q\n", m.ID, m.Text); err != nil {
				panic(err)
			}
			last = m.ID
		}
	}
}

func (c *cluster) gotOutside() (lines []string) {
	f, err := os.Open(filepath.Join(c.dir, "got.c0"))
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}
