package dataplane

import (
	"encoding/binary"
	"net/netip"
)

// The record by which the cloud tells its own ids in a header of the PROXY protocol (help page "Obtain real client information" of
// PrivateLink): its type, and what comes behind the length.
const (
	proxyRecord = 0xe1
	proxyVpcID  = 0x01
)

// proxyHeader is the header of the PROXY protocol, version 2, of a connection or datagram (the specification by HAProxy, section 2.2):
// signature, version and command, family, length, addresses, ports, and the id of the VPC if it is to be told. Neither product of the cloud
// sends version 1.
func (l *listener) proxyHeader(client, at netip.AddrPort) []byte {
	out := append([]byte(nil), "\r\n\r\n\x00\r\nQUIT\n\x21"...)
	family, addresses := byte(0x10), append(client.Addr().AsSlice(), at.Addr().AsSlice()...)
	if client.Addr().Is6() {
		family = 0x20
	}
	transport := byte(0x01)
	if l.protocol == protoUDP {
		transport = 0x02
	}
	var records []byte
	if l.proxyVpc != "" {
		records = append(records, proxyRecord)
		records = binary.BigEndian.AppendUint16(records, uint16(len(l.proxyVpc)+1))
		records = append(append(records, proxyVpcID), l.proxyVpc...)
	}
	out = append(out, family|transport)
	out = binary.BigEndian.AppendUint16(out, uint16(len(addresses)+4+len(records)))
	out = append(out, addresses...)
	out = binary.BigEndian.AppendUint16(out, client.Port())
	out = binary.BigEndian.AppendUint16(out, at.Port())
	return append(out, records...)
}
