# What a cluster.yaml says of interfaces, for machines that are containers: they have one, eth0, on
# the segment where the others have eth1, and this computer is their router. Nothing answers DNS
# there, but CoreDNS wants a server. Without accept-ra, networkd would wait for a router. A line
# that ends with "# QEMU" is for an emulated machine in any case.
/^ *eth0: \{dhcp4: true\}$/d
s|eth1: \{addresses: (\[[^]]*\])\}|eth0: {addresses: \1, accept-ra: false,\
            nameservers: {addresses: [10.10.0.1]}, routes: [{to: 0.0.0.0/0, via: 10.10.0.1}]}|
/# QEMU$/!s|\{name: eth0, dhcp4: true\}, \{name: eth1, addresses: (\[[^]]*\])\}|\
      {name: eth0, addresses: \1, gateways: [10.10.0.1], nameservers: [10.10.0.1]}|
s|interface: eth1|interface: eth0|
