package dataplane

import (
	"encoding/binary"
	"net/netip"
)

// proxyHeader is the header of the PROXY protocol, version 2, of a TCP connection (the specification by HAProxy, section 2.2): signature,
// version and command, family, length, addresses, ports. It carries no further values: those that name the VPC are not there.
func proxyHeader(client, listener netip.AddrPort) []byte {
	out := append([]byte(nil), "\r\n\r\n\x00\r\nQUIT\n\x21"...)
	family, addresses := byte(0x11), append(client.Addr().AsSlice(), listener.Addr().AsSlice()...)
	if client.Addr().Is6() {
		family = 0x21
	}
	out = append(out, family)
	out = binary.BigEndian.AppendUint16(out, uint16(len(addresses)+4))
	out = append(out, addresses...)
	out = binary.BigEndian.AppendUint16(out, client.Port())
	return binary.BigEndian.AppendUint16(out, listener.Port())
}
