#pragma once

namespace railbed {

class Host;

// Hardware whose drivers are at work, known without asking a library.
bool has_rdma_devices(Host& host);
bool has_nvidia_gpus(Host& host);

}  // namespace railbed
