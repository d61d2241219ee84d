package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Hosts are those that commands may reach. The zero value has none.
type Hosts struct {
	allowed, denied []entry
}

// entry is a name, all names below one, or addresses.
type entry struct {
	name  string // "" is any
	below bool   // not the name itself
	addrs netip.Prefix
	port  uint16 // 0: any that the web uses
}

// ParseHosts reads two lists of entries: HOST, *.HOST, * or an address or network, each of
// them with :PORT where it is not for the web's ports. What is denied is denied at each
// port unless it names one. The error joins one for each wrong entry, and the rest counts.
func ParseHosts(allowed, denied []string) (h Hosts, err error) {
	var errs []error
	for _, list := range []struct {
		texts []string
		into  *[]entry
	}{{allowed, &h.allowed}, {denied, &h.denied}} {
		for _, text := range list.texts {
			e, err := parseEntry(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%q is no host: %w; write example.com, *.example.com, example.com:8080 or an address", text, err))
				continue
			}
			*list.into = append(*list.into, e)
		}
	}
	return h, errors.Join(errs...)
}

func parseEntry(text string) (e entry, err error) {
	if e.addrs, err = netip.ParsePrefix(text); err == nil {
		return e, nil
	}
	if _, err := netip.ParseAddr(text); err != nil {
		host, port, err := net.SplitHostPort(text)
		if err == nil {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil || n == 0 {
				return e, errors.New("its port is no number")
			}
			text, e.port = host, uint16(n)
		}
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap()
		e.addrs = netip.PrefixFrom(addr, addr.BitLen())
		return e, nil
	}
	if text == "*" {
		return e, nil
	}
	text, e.below = strings.CutPrefix(text, "*.")
	e.name, err = normal(text)
	return e, err
}

// normal returns the form in which names are compared.
func normal(name string) (string, error) {
	if strings.ContainsAny(name, "%*/\\@ \x00") {
		return "", errors.New("it has a character that no name has")
	}
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil {
		return "", err
	}
	ascii = strings.ToLower(ascii)
	last := ascii[strings.LastIndexByte(ascii, '.')+1:]
	if last == "" || last[0] >= '0' && last[0] <= '9' {
		return "", errors.New("it is neither a name nor an address in its usual form")
	}
	return ascii, nil
}

// target is where a connection is to lead.
type target struct {
	name string     // "" if it is an address
	addr netip.Addr // of a target without a name
	port uint16
}

func (t target) String() string {
	host := t.name
	if host == "" {
		host = t.addr.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(t.port)))
}

func parseTarget(hostport string) (t target, err error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return t, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return t, errors.New("its port is no number")
	}
	t.port = uint16(n)
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		t.addr = addr.Unmap()
		return t, nil
	}
	t.name, err = normal(host)
	return t, err
}

// admits returns nil if a target may be reached, as far as its name says.
func (h Hosts) admits(t target) error {
	if slices.ContainsFunc(h.denied, func(e entry) bool { return e.names(t) && (e.port == 0 || e.port == t.port) }) {
		return errDenied
	}
	if !slices.ContainsFunc(h.allowed, func(e entry) bool { return e.names(t) && e.opens(t.port) }) {
		return errNotListed
	}
	return nil
}

// reaches returns nil if an address that a target has been found at may be reached.
func (h Hosts) reaches(addr netip.Addr, port uint16) error {
	at := target{addr: addr, port: port}
	has := func(e entry) bool { return e.addrs.IsValid() && e.names(at) }
	if slices.ContainsFunc(h.denied, func(e entry) bool { return has(e) && (e.port == 0 || e.port == port) }) {
		return errDenied
	}
	// An entry for a name opens its port; that for an address opens the address.
	if !public(addr) && !slices.ContainsFunc(h.allowed, func(e entry) bool { return has(e) && (e.port == 0 || e.port == port) }) {
		return fmt.Errorf("%w (%v)", errNotPublic, addr)
	}
	return nil
}

var (
	errDenied    = errors.New("sandbox.network.deniedDomains or a rule denies it")
	errNotListed = errors.New("sandbox.network.allowedDomains does not list it")
	errNotPublic = errors.New("it leads to an address that is not public and that sandbox.network.allowedDomains does not list")
)

// names reports whether the entry is about a target.
func (e entry) names(t target) bool {
	switch {
	case e.addrs.IsValid():
		return t.name == "" && e.addrs.Contains(t.addr)
	case e.name == "":
		return t.name != ""
	case e.below:
		return strings.HasSuffix(t.name, "."+e.name)
	}
	return t.name == e.name
}

// opens reports whether an entry that allows is for a port.
func (e entry) opens(port uint16) bool {
	if e.port != 0 {
		return e.port == port
	}
	return port == 80 || port == 443
}

// special are networks that lead to a machine itself, to its neighbours, or through
// another protocol to an address that cannot be seen, and are not among those that
// net/netip knows; the last is where a cloud serves its machines.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("168.63.129.16/32"),
}

// public reports an address that belongs to the internet at large.
func public(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
