# What a cluster.yaml says of interfaces, for machines that are containers: they have one, eth0, on
# the segment where the others have eth1, and this computer is their router. Nothing answers DNS
# there, but CoreDNS wants a server. A line that ends with "# QEMU" is for an emulated machine in
# any case.
/# QEMU$/!s|\{name: eth0, dhcp4: true\}, \{name: eth1, addresses: (\[[^]]*\])\}|\
      {name: eth0, addresses: \1, gateways: [10.10.0.1], nameservers: [10.10.0.1]}|
s|interface: eth1|interface: eth0|
