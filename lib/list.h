/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked lists inside of structures. Insertion links the new node before
 * it becomes reachable, so that a forked child may walk forward through a list that
 * another thread of its parent was changing.
 */
#ifndef NPU_LIST_H
#define NPU_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct npu_list {
	struct npu_list *next, *prev;
};

#define npu_container(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define npu_list_for(pos, head) for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)

#define npu_list_for_safe(pos, tmp, head) \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); \
	     (pos) = (tmp), (tmp) = (pos)->next)

static inline void npu_list_init(struct npu_list *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool npu_list_empty(const struct npu_list *head)
{
	return head->next == head;
}

static inline void npu_list_add_tail(struct npu_list *head, struct npu_list *node)
{
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

static inline void npu_list_del(struct npu_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	npu_list_init(node);
}

#endif
