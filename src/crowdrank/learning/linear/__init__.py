"""Linear rankers: `listmle`, from one label per item; `lregma`, from places in lists."""
