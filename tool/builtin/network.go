package builtin

import (
	"fmt"
	"net"
	"strings"

	"github.com/actorswarm/swarm/internal/proxy"
)

// Network is what commands under the profile edit reach, besides nothing.
type Network struct {
	Allowed, Denied []string // HOST, *.HOST or an address, with :PORT where it is not the web's
	ProxyPort       int      // of a proxy on this machine that decides in their place; 0 is none
}

// serve connects a command with the hosts that it may reach. What is denied and cannot be
// understood denies all of them.
func (b *bashTool) serve(l net.Listener) *proxy.Proxy {
	now := b.env.Network()
	o := proxy.Options{}
	if now.ProxyPort > 0 {
		o.To = proxy.AtPort(now.ProxyPort)
	}
	denied, err := proxy.ParseHosts(nil, now.Denied)
	if o.Hosts = denied; err == nil {
		o.Hosts, _ = proxy.ParseHosts(now.Allowed, now.Denied) // an entry that is no host allows none
	}
	return proxy.Start(l, o)
}

// refusals returns the hosts that the command was not connected with, in one line.
func (p *process) refusals() string {
	if p.proxy == nil {
		return ""
	}
	var hosts []string
	for _, r := range p.proxy.Refusals() {
		hosts = append(hosts, r.String())
	}
	if len(hosts) == 0 {
		return ""
	}
	return fmt.Sprintf("The profile %s denied the network to %s. %s", p.box.Profile.Name, strings.Join(hosts, "; "), p.box.Profile.Remedy())
}
