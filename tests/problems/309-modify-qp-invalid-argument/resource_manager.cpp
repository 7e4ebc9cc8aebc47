// INIT -> RTR
         flags = IBV_QP_STATE | IBV_QP_PATH_MTU;
         memset(&attr, 0, sizeof(attr));
         attr.qp_state = IBV_QPS_RTR;
         attr.path_mtu = IBV_MTU_512;
         if (qp->qp->qp_type == IBV_QPT_RC) {
             flags |= IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
             attr.ah_attr.is_global = 0;
             attr.ah_attr.dlid = lid;
             attr.ah_attr.port_num = ib_port_;
             attr.dest_qp_num = qp_num;
             attr.rq_psn = psn; // match remote sq_psn
             attr.max_dest_rd_atomic = 16;
             attr.min_rnr_timer = 12;
         }
         if (ibv_modify_qp(qp->qp, &attr, flags)) {
             printf("The third ibv_modify_qp\n");
             SDS_PERROR("ibv_modify_qp");
             return -1;
         }
