"""Linear rankers: `listmle`, from one label per item; `lregma`, from positions in lists."""
