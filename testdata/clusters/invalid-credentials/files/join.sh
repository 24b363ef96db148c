kubeadm join --token abcdef.0123456789abcdef api.example.com:6443
